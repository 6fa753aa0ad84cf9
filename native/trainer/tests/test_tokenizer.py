"""decode(encode(text)) is the text; fixed pieces are one token; the rendering learns from what the policy writes."""

import random
import unittest

from steadfast_trainer.chat import render
from steadfast_trainer.make_base import encode
from steadfast_trainer.tokenizer import Tokenizer

from .fixtures import conversations, small_tokenizer


class TokenizerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = Tokenizer(*small_tokenizer())

    def test_round_trip_of_any_text(self):
        rng = random.Random(1)
        pieces = [
            "please",
            " order",
            "r1",
            "7",
            "\n",
            "  ",
            "<|im_end|>",
            "<tool_call>",
            "</think>",
            "é",
            "日本",
            "🙂",
            "\ufeff",
            "\x00",
            "<0x41>",
            " <DONE>",
            "A B",
            "\u2028",
            "\r\n\t",
        ]
        for _ in range(300):
            text = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
            self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(text)), text)

    def test_words_digits_and_fixed_pieces_are_single_tokens(self):
        for text, count in (
            (" please refund order", 3),
            (" r417", 4),
            ("r417", 4),
            (" $80", 3),
            (" . <DONE>", 2),
            (
                "<tool_call>\n<function=get_order>\n<parameter=order>\nr1\n</parameter>\n</function>\n</tool_call>",
                8,
            ),
            ("<|im_start|>assistant\n<think>\n\n</think>\n\n", 2),
            ("<|im_end|>\n<|im_start|>tool\n done", 4),
        ):
            self.assertEqual(len(self.tokenizer.encode(text)), count, text)

    def test_segments_encode_as_the_whole_text_does(self):
        for conversation in conversations(5):
            segments = render(conversation)
            whole = self.tokenizer.encode("".join(segment.text for segment in segments))
            self.assertEqual([i for segment in segments for i in self.tokenizer.encode(segment.text)], whole)
            ids, sampled = encode(conversation, self.tokenizer)
            self.assertEqual(ids.tolist(), whole[: len(ids)])
            self.assertTrue(sampled[-1] and ids[-1] == self.tokenizer.eos)


if __name__ == "__main__":
    unittest.main()
