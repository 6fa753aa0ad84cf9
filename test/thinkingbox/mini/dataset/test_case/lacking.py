import a_module_that_nobody_has

"""!
scenario: shelf
"""


def test_lacking(x, judge):
    """!
    query: Hello
    """
