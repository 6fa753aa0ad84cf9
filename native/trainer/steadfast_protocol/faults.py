"""Errors by what the caller can do about them.

`TrainerFault` crosses HTTP as `{"error": {"code", "message", "details"?}}`; `UsageError` ends a command with exit code 2.
"""

#: code -> HTTP status; docs/trainer-contract.md says what each means.
STATUS = {
    "not_open": 409,
    "stale_base": 409,
    "conflict": 409,
    "bad_checkpoint": 422,
    "bad_batch": 422,
    "off_policy": 422,
    "weights_unavailable": 404,
    "bad_request": 400,
    "prompt_too_long": 400,
    "not_found": 404,
    "disk": 507,
    "overloaded": 503,
    "internal": 500,
}


class TrainerFault(Exception):
    """A refusal with a code of `STATUS`; nothing of the trainer's state changed."""

    def __init__(self, code: str, message: str, details: dict[str, float] | None = None):
        super().__init__(message)
        self.code = code
        self.status = STATUS[code]
        self.details = details

    def to_json(self) -> dict:
        """The body of the reply."""
        error: dict[str, object] = {"code": self.code, "message": str(self)}
        return {"error": error if self.details is None else error | {"details": self.details}}


class UsageError(Exception):
    """Bad input by the person who started us: place, what was expected, what was found."""

    def __init__(self, place: str, expected: str, found: str):
        super().__init__(f"{place}: expected {expected}, found {found}")
