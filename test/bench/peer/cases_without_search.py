"""Cases of a checkout as the peer's own JSON Lines of hydrated cases, without the documents that need a Typesense.

    python cases_without_search.py DATASET OUTPUT CASE...
"""

import sys
from pathlib import Path

from thinkingbox.common.hydrator import iter_cases_by_names


def main() -> None:
    dataset, output, *names = sys.argv[1:]
    lines = []
    for case in iter_cases_by_names(names, base_dir=dataset, agent="think"):
        for config in [*case.scenario.world_state.values(), *case.init.values()]:
            if "sources" in config:
                config["sources"] = []
        lines.append(case.model_dump_json())
    Path(output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
