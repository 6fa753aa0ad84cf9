"""The sampler of replicas against a server of vLLM's API that says which weights it holds, and what should not happen in it."""

import asyncio
import json
import threading
import time
import unittest
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import SamplingOptions
from steadfast_torch.vllm_server import VllmServer
from steadfast_verl.replica_sampler import ReplicaSampler
from steadfast_verl.turns import Turns
from steadfast_verl.workers import Workers

LIMIT_S = 60
#: A prompt that is answered when the server is told to, and no sooner.
HELD = 99


class StandIn(ThreadingHTTPServer):
    """One replica: its token is the number of the weights that it was handed last."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.weights: str | None = None
        self.problems: list[str] = []
        self.asked = 0
        self.released, self.hung_up = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        weights = self.server.weights
        self.server.asked += 1
        if weights is None:
            self.server.problems.append("asked while asleep")
        if body["prompt"][0] == HELD:
            self.connection.settimeout(0.05)
            while not self.server.released.is_set():
                try:
                    if self.connection.recv(1) == b"":
                        self.server.hung_up.set()
                        return
                except TimeoutError:
                    pass
        if self.server.weights != weights:
            self.server.problems.append(f"{self.server.weights} in place of {weights} under a request")
        token = 0 if weights in (None, "base") else int(weights[1:])
        choice = {"token_ids": [token], "logprobs": {"token_logprobs": [-1.0]}, "finish_reason": "stop"}
        if "prompt_logprobs" in body:
            choice["prompt_logprobs"] = [None, *({str(id): {"logprob": -2.0}} for id in body["prompt"][1:])]
        text = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments):
        pass


class Group:
    """Two ranks, and two replicas on their GPUs."""

    def __init__(self, log: list[str]):
        self.log, self.dead = log, False
        self.replicas = [StandIn(), StandIn()]
        self.servers, self.model = [VllmServer(replica.url) for replica in self.replicas], "served"

    def start(self, base: str):
        return [{"process": 1}, {"process": 2}]

    def call(self, method: str, arguments):
        if any(replica.weights is not None for replica in self.replicas):
            self.replicas[0].problems.append(f"{method} while awake")
        if method != "drop":
            self.log.append(method)
        return [0, 0]

    def sleep(self):
        for replica in self.replicas:
            replica.weights = None

    def hand_over(self, version: str):
        self.log.append(version)
        for replica in self.replicas:
            replica.weights = version
        return SimpleNamespace(servers=self.servers, model=self.model)

    def check(self):
        if self.dead:
            raise RuntimeError("engine core is dead")

    def end(self):
        for replica in self.replicas:
            replica.shutdown()
            replica.server_close()


class ReplicaSamplerTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.log: list[str] = []
        self.groups: list[Group] = []

        def begin():
            self.groups.append(Group(self.log))
            return self.groups[-1]

        turns = Turns()
        self.workers = Workers(begin, 2, turns)
        self.workers.start()
        self.addCleanup(self.workers.end)
        self.sampler = ReplicaSampler(self.workers, turns, 4, 8)

    def tearDown(self):
        self.assertEqual(
            [problem for group in self.groups for r in group.replicas for problem in r.problems], []
        )

    async def published(self) -> str:
        weights = self.workers.new()
        await self.sampler.publish(weights.name, weights)
        return weights.name

    async def sample(self, name: str, *prompt: int, score: bool = False) -> Request:
        ids = np.array(prompt or (1, 2), np.int32)
        request = Request(ids, SamplingOptions(1, 0, 1, 0), 8, frozenset(), score)
        return await asyncio.wait_for(self.sampler.run(name, request), LIMIT_S)

    async def test_a_version_is_handed_over_for_its_first_request_and_stays_until_the_ranks_compute(self):
        name = await self.published()
        self.assertEqual(self.log, [])
        request = await self.sample(name)
        self.assertEqual((request.tokens, request.finish), ([int(name[1:])], "stop"))
        self.assertEqual((await self.sample(name, score=True)).logprobs, [-2.0])
        await asyncio.to_thread(self.workers.call, "score")
        await self.sample(name)
        self.assertEqual(self.log, [name, "score", name])

    async def test_versions_and_ranks_that_want_the_gpus_at_once_are_never_mixed(self):
        names = [await self.published() for _ in range(3)]
        asked = [self.sample(names[number % 3]) for number in range(60)]
        calls = [asyncio.to_thread(self.workers.call, "score") for _ in range(5)]
        requests = (await asyncio.gather(*asked, *calls))[:60]
        for number, request in enumerate(requests):
            self.assertEqual(request.tokens, [int(names[number % 3][1:])])
        # A change is not paid for every request.
        self.assertEqual(Counter(self.log)["score"], 5)
        self.assertLess(len(self.log), 40)
        self.assertTrue(all(replica.asked > 0 for replica in self.groups[0].replicas))

    async def test_the_ranks_wait_for_the_requests_that_run(self):
        name = await self.published()
        held = asyncio.ensure_future(self.sample(name, HELD))
        await self.until(lambda: self.groups[0].replicas[0].asked == 1)
        learning = asyncio.ensure_future(asyncio.to_thread(self.workers.call, "learn"))
        other = asyncio.ensure_future(self.sample(name))
        await self.until(lambda: not other.done() and len(self.sampler._turns._waiting) == 2)
        self.assertFalse(learning.done())
        self.groups[0].replicas[0].released.set()
        await asyncio.gather(held, learning, other)
        self.assertEqual(self.log, [name, "learn", name])

    async def test_a_request_that_nobody_waits_for_ends_at_the_replica(self):
        name = await self.published()
        held = asyncio.ensure_future(self.sample(name, HELD))
        replica = self.groups[0].replicas[0]
        await self.until(lambda: replica.asked == 1)
        held.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await held
        self.assertTrue(await asyncio.to_thread(replica.hung_up.wait, LIMIT_S))
        await asyncio.to_thread(self.workers.call, "learn")

    async def test_a_replica_that_has_died_is_the_end_of_all(self):
        name = await self.published()
        await self.sample(name)
        first = self.groups[0]
        first.dead = True
        first.replicas[0].shutdown()
        first.replicas[0].server_close()
        await self.refused("overloaded", "engine core is dead", name)
        self.assertEqual(self.sampler.names(), [])
        await self.refused("weights_unavailable", "have died", name)
        self.assertEqual(len(self.groups), 1)
        base = self.workers.base()
        await self.sampler.publish("base", base)
        self.assertEqual((await self.sample("base")).tokens, [0])
        self.assertEqual(len(self.groups), 2)

    async def test_an_answer_that_is_refused_by_a_living_replica_is_no_end(self):
        name = await self.published()
        await self.sample(name)
        first = self.groups[0].replicas[0]
        first.shutdown()
        first.server_close()
        await self.refused("overloaded", "Connection", name)
        self.assertEqual(self.sampler.names(), [name])

    async def refused(self, code: str, text: str, name: str) -> None:
        with self.assertRaisesRegex(TrainerFault, text) as caught:
            await self.sample(name)
        self.assertEqual(caught.exception.code, code)

    async def until(self, holds) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            self.assertLess(time.monotonic(), deadline, "it never came to it")
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
