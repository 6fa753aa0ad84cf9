"""A vLLM server as the trainer uses it: completions, and the calls that put weights into it.

Whole models are loaded in place (`/collective_rpc`, `/reset_prefix_cache`: VLLM_SERVER_DEV_MODE=1), adapters by name
(`/v1/load_lora_adapter`: VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora).
"""

import contextlib
import http.client
import json
import socket
from urllib.parse import urlsplit

from steadfast_protocol.faults import TrainerFault, UsageError
from steadfast_protocol.samplers import Request

#: Silence after which a call has failed, seconds: loading a model, or one long completion.
_SILENCE = 1800


def hang_up(connection: http.client.HTTPConnection) -> None:
    """Ends a call that another thread waits for: it raises there, and vLLM drops what nobody waits for."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


class VllmServer:
    """`url` ends before `/v1`. Calls block: they belong on threads of their own."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise UsageError("--vllm", "http://host:port", url)
        self._host, self._port = parts.hostname, parts.port or 80
        self.url = f"http://{self._host}:{self._port}"

    def model(self) -> str:
        """The name it serves its model under. Raises `UsageError` when it does not answer."""
        try:
            return self._call("GET", "/v1/models", None)["data"][0]["id"]
        except (TrainerFault, LookupError, TypeError) as error:
            raise UsageError("--vllm", f"a vLLM server at {self.url}", str(error)) from error

    def load(self, folder: str) -> None:
        """The weights of a model folder in place of those it has; what it has cached of the old ones is dropped."""
        self._call(
            "POST", "/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": folder}}
        )
        self._call("POST", "/reset_prefix_cache", {})

    def load_adapter(self, name: str, folder: str) -> None:
        self._call("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": folder})

    def unload_adapter(self, name: str) -> None:
        self._call("POST", "/v1/unload_lora_adapter", {"lora_name": name})

    def complete(self, model: str, request: Request, connection: http.client.HTTPConnection) -> None:
        """Fills in the request. `connection` is the caller's to close when nobody waits any more."""
        options = request.options
        body: dict[str, object] = {
            "model": model,
            "prompt": request.prompt.tolist(),
            "max_tokens": 1 if request.score else request.max_tokens,
            "temperature": options.temperature,
            "top_k": options.top_k or -1,
            "top_p": options.top_p,
            "seed": options.seed,
            "stop_token_ids": sorted(request.stop),
            "return_token_ids": True,
            "logprobs": 0,
        }
        if request.score:
            body["prompt_logprobs"] = 0
        choice = self._on(connection, "POST", "/v1/completions", body)["choices"][0]
        if request.score:
            scored = zip(request.prompt[1:].tolist(), choice["prompt_logprobs"][1:], strict=True)
            request.logprobs = [entry[str(token)]["logprob"] for token, entry in scored]
            request.finish = "stop"
            return
        request.tokens, request.logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
        request.finish = "stop" if choice["finish_reason"] == "stop" else "length"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=_SILENCE)

    def _call(self, method: str, path: str, body: dict | None) -> dict:
        connection = self.connect()
        try:
            return self._on(connection, method, path, body)
        finally:
            connection.close()

    def _on(self, connection: http.client.HTTPConnection, method: str, path: str, body: dict | None) -> dict:
        try:
            headers = {"content-type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise TrainerFault("overloaded", f"{self.url}{path}: {type(error).__name__}: {error}") from error
        if response.status >= 300:
            code = "overloaded" if response.status in (429, 503) else "internal"
            raise TrainerFault(code, f"{self.url}{path}: HTTP {response.status}: {text[:300]!r}")
        try:
            # Loading answers with a word, or nothing.
            return json.loads(text) if text[:1] in (b"{", b"[") else {}
        except ValueError as error:
            raise TrainerFault("internal", f"{self.url}{path}: no JSON: {text[:80]!r}") from error
