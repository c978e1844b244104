"""A house rule as a tool: an answer uses every number of the puzzle exactly once."""

import re


def checker(task: str) -> str:
    """Check that an answer uses every number of its question once.

    Args:
        task: The question after "Question:", the answer after "Answer:".
    """
    question, _, answer = task.partition("Question:")[2].partition("Answer:")
    question_numbers = sorted(re.findall(r"\d+", question.partition("from")[2]))
    answer_numbers = sorted(re.findall(r"\d+", answer.partition("=")[0]))
    return (
        "Right."
        if question_numbers == answer_numbers
        else f"Wrong: {question_numbers} were given, and {answer_numbers} were used."
    )
