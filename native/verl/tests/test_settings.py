"""Settings come from the one command that `--show verl` prints."""

import os
import tempfile
import unittest

from steadfast_protocol.faults import UsageError
from steadfast_verl.settings import parse_command, read_settings, with_more

PRINTED = r"""/opt/verl/bin/python \
  -m \
  verl.trainer.main_ppo \
  actor_rollout_ref.actor.optim.lr=0.000001 \
  'actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]' \
  '+data.note=it'\''s'
"""


class SettingsTest(unittest.TestCase):
    def test_what_is_printed_is_read_back(self):
        self.assertEqual(
            parse_command(PRINTED, "file"),
            [
                "actor_rollout_ref.actor.optim.lr=0.000001",
                "actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]",
                "+data.note=it's",
            ],
        )

    def test_the_reference_run(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        settings = read_settings(os.path.join(root, "test", "verl", "reference-command.txt"))
        self.assertIn("trainer.nnodes=3", settings)
        self.assertIn("actor_rollout_ref.actor.clip_ratio_c=3", settings)

    def test_more_settings_take_the_place_of_others(self):
        self.assertEqual(with_more(["a.b=1", "+c=2", "d=3"], ["c=4", "e=5"]), ["a.b=1", "d=3", "c=4", "e=5"])

    def test_a_file_that_is_none_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = os.path.join(folder, "none")
            with self.assertRaisesRegex(UsageError, missing):
                read_settings(missing)
        for text, found in (
            ("", "nothing"),
            ("python -m other a=1", "python -m other"),
            ("python -m verl.trainer.main_ppo a=1 b", "b"),
            ("python -m verl.trainer.main_ppo 'a", "No closing quotation"),
        ):
            with self.assertRaisesRegex(UsageError, f"^place: .*{found}"):
                parse_command(text, "place")


if __name__ == "__main__":
    unittest.main()
