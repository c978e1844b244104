"""The label of a call that waits for a person's approval."""

import pytest
from tests.transcript.turn_builders import tool_call

from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled
from thinkaloud.core.transcript import fold
from thinkaloud.core.view import view


@pytest.mark.parametrize(
    ("locale", "label"), [("en-US", "Tool waits for approval"), ("pt-BR", "Ferramenta aguarda aprovação")]
)
def test_a_call_that_waits_for_approval_is_labelled_so(locale: str, label: str) -> None:
    seen = view(fold([*tool_call(0), ApprovalAsked(0)]), locale=locale)
    assert seen is not None
    assert seen.steps[0].label == label


@pytest.mark.parametrize("granted", [True, False])
def test_a_call_that_was_decided_is_labelled_with_its_name(granted: bool) -> None:
    seen = view(fold([*tool_call(0), ApprovalAsked(0), ApprovalSettled(0, granted)]))
    assert seen is not None
    assert seen.steps[0].label == "Tool"
