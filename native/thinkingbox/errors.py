"""One error for bad input: where, what was expected, what was found; the host turns it into its own."""


class BadInput(Exception):
    def __init__(self, place: str, expected: str, found: str) -> None:
        super().__init__(f"{place}: expected {expected}, found {found}")
        self.place, self.expected, self.found = place, expected, found
