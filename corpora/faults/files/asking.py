"""Asks the model and behaves: what every other scenario must leave untouched."""

import http.client
import json
import os
import time
from urllib.parse import urlsplit


def request(text: str, history: list[dict[str, object]] | None = None) -> tuple[int, bytes]:
    """The status and the body of one answer of the model."""
    place = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    messages = [*(history or []), {"role": "user", "content": text}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    connection = http.client.HTTPConnection(str(place.hostname), place.port or 80, timeout=10)
    try:
        connection.request("POST", "/v1/messages", json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _converse(questions: list[str], pause_s: float = 0.0) -> int:
    history: list[dict[str, object]] = []
    for number, question in enumerate(questions):
        time.sleep(pause_s if number else 0.0)
        status, body = request(question, history)
        if status != http.HTTPStatus.OK:
            print(f"status {status}")
            return 1
        history += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": json.loads(body)["content"]},
        ]
    print(f"{len(questions)} answers")
    return 0


def once() -> int:
    """One question."""
    return _converse(["Which of these programs asks a model and then ends?"])


def thrice() -> int:
    """Three questions of one conversation."""
    return _converse(["What is a pod?", "And which of its containers ends last?", "Why?"])


def at_length() -> int:
    """One long question."""
    return _converse(["Is any of these words a name? " + " ".join(f"word{number}" for number in range(400))])


def slowly() -> int:
    """Two questions, with time between them for something to happen."""
    return _converse(["What happens next?", "And what has happened?"], pause_s=2.0)
