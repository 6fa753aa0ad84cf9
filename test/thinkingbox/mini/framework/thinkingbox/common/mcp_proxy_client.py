"""The fixture that calls tools through a proxy; there is no proxy here."""


class SessionClientFixture:
    def __init__(self, endpoint: str, timeout: float = 120.0) -> None:
        raise RuntimeError(f"no proxy at {endpoint}")
