"""A case of our own whose wanted state is what golden calls leave behind."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: till
"""


def test_sale(x: TestContext, judge: Judge):
    """!
    query: Ring up forty-two for the canary.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - { tool: create_sale, parameters: { amount: 42.0, note: canary-of-the-golden-calls } }
        rubrics_yesno: [canary-of-the-rubrics]
    """
    effects = x.effects["till"]
    assert effects["result_db_hash"] == effects["golden_db_hash"], effects["diff"]
    assert effects["initial_db_state"] == {"sales": [{"id": "S1", "amount": 300.0, "note": ""}]}
    assert repr(effects["result_db_state"]["sales"][0]["amount"]) == "300.0"
    for rubric in effects["rubrics_yesno"]:
        assert judge.yesno(rubric), rubric
