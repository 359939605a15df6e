"""What the sidecar answers when it can't do what a request asks: a status and one sentence."""


class Refused(Exception):  # noqa: N818  # an answer, not a fault of ours
    """A request that is answered with an error in Qdrant's shape."""

    def __init__(self, status: int, message: str) -> None:
        """Hold the HTTP `status` and the `message` of the answer."""
        super().__init__(message)
        self.status = status
        self.message = message


def wrong_input(message: str) -> Refused:
    """Return a 400: the request is well formed, but can't be right for this collection."""
    return Refused(400, f"Wrong input: {message}")


def bad_format(where: str, message: str) -> Refused:
    """Return a 400: the body isn't what the interface defines, at `where`."""
    return Refused(400, f"Format error in JSON body: {where}: {message}")


def out_of_range(where: str, message: str) -> Refused:
    """Return a 422: a number of the body is outside what the interface allows."""
    return Refused(422, f"Validation error in JSON body: [{where}: {message}]")


def not_found(message: str) -> Refused:
    """Return a 404."""
    return Refused(404, f"Not found: {message}")


def not_served(what: str) -> Refused:
    """Return a 501: Qdrant knows this, this sidecar doesn't."""
    return Refused(501, f"Not served by the qdrant-edge REST shim: {what}")


class FatalError(Exception):
    """A command that can't go on: one sentence for a person; the program ends with exit code 2."""
