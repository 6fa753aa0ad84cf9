"""What a vLLM server is asked, and how its answers are read, against a small real server."""

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from steadfast_protocol.faults import TrainerFault, UsageError
from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import SamplingOptions
from steadfast_torch.vllm_server import VllmServer


class StandIn(BaseHTTPRequestHandler):
    """Answers with what its server was told for the path; remembers what it was asked."""

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.asked.append((self.path, json.loads(text) if text else None))
        status, body = self.server.answers.get(self.path, (404, "not found"))
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Silent."""


class VllmServerTest(unittest.TestCase):
    def setUp(self):
        self.stand_in = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
        self.stand_in.asked, self.stand_in.answers = [], {}
        threading.Thread(target=self.stand_in.serve_forever, daemon=True).start()
        self.server = VllmServer(f"http://127.0.0.1:{self.stand_in.server_address[1]}/")

    def tearDown(self):
        self.stand_in.shutdown()
        self.stand_in.server_close()

    def request(self, score: bool = False) -> Request:
        options = SamplingOptions(1.0, 0, 0.95, (1 << 62) + 1)
        return Request(np.array([5, 6, 7], np.int32), options, 9, frozenset({2, 1}), score=score)

    def complete(self, choice: dict, score: bool = False) -> Request:
        self.stand_in.answers["/v1/completions"] = (200, {"choices": [choice]})
        request = self.request(score)
        connection = self.server.connect()
        try:
            self.server.complete("model", request, connection)
        finally:
            connection.close()
        return request

    def test_a_completion(self):
        request = self.complete(
            {"token_ids": [8, 2], "logprobs": {"token_logprobs": [-0.5, -0.25]}, "finish_reason": "stop"}
        )
        self.assertEqual((request.tokens, request.logprobs, request.finish), ([8, 2], [-0.5, -0.25], "stop"))
        path, body = self.stand_in.asked[-1]
        self.assertEqual(path, "/v1/completions")
        expected = {"prompt": [5, 6, 7], "top_k": -1, "seed": (1 << 62) + 1, "stop_token_ids": [1, 2]}
        self.assertEqual({name: body[name] for name in expected}, expected)

    def test_log_probabilities_of_a_prompt(self):
        entries = [None, {"6": {"logprob": -1.5}, "9": {"logprob": -0.1}}, {"7": {"logprob": -2.5}}]
        request = self.complete({"token_ids": [1], "prompt_logprobs": entries}, score=True)
        self.assertEqual((request.logprobs, request.finish), ([-1.5, -2.5], "stop"))
        self.assertEqual(self.stand_in.asked[-1][1]["prompt_logprobs"], 0)

    def test_weights_are_loaded_and_what_was_cached_of_others_is_dropped(self):
        self.stand_in.answers |= {"/collective_rpc": (200, ""), "/reset_prefix_cache": (200, "")}
        self.server.load("/models/x")
        self.assertEqual(
            [path for path, _ in self.stand_in.asked], ["/collective_rpc", "/reset_prefix_cache"]
        )
        self.assertEqual(self.stand_in.asked[0][1]["kwargs"], {"weights_path": "/models/x"})
        self.stand_in.answers |= {"/v1/load_lora_adapter": (200, "Success: added")}
        self.server.load_adapter("sha256:1", "/adapters/1")
        self.assertEqual(self.stand_in.asked[-1][1], {"lora_name": "sha256:1", "lora_path": "/adapters/1"})

    def test_refusals_are_faults(self):
        for status, code in ((400, "internal"), (503, "overloaded")):
            self.stand_in.answers["/collective_rpc"] = (status, "no")
            with self.assertRaises(TrainerFault) as caught:
                self.server.load("/models/x")
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(UsageError):
            self.server.model()
        with self.assertRaises(UsageError):
            VllmServer("127.0.0.1:8000")


if __name__ == "__main__":
    unittest.main()
