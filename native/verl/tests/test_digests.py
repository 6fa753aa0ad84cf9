"""The digest over whole tensors does not depend on who hashed which."""

import unittest

from steadfast_verl.digests import joined_digest


class DigestTest(unittest.TestCase):
    def test_the_number_of_ranks_does_not_enter(self):
        whole = {"a": "1", "b": "2", "c": "3"}
        for parts in ([whole], [{"b": "2"}, {"c": "3", "a": "1"}], [{}, whole, {}]):
            self.assertEqual(joined_digest(parts), joined_digest([whole]))

    def test_every_name_and_every_byte_enters(self):
        found = {
            joined_digest([parts])
            for parts in ({"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"a": "1"}, {"a": "1", "c": "2"}, {})
        }
        self.assertEqual(len(found), 5)

    def test_ranks_that_disagree(self):
        with self.assertRaisesRegex(ValueError, "tensor a"):
            joined_digest([{"a": "1"}, {"a": "2"}])


if __name__ == "__main__":
    unittest.main()
