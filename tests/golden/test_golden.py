"""Labels, confidences, coefficients, trials, model files and pages are as they were.

A difference is a mistake, or it is meant: then ``python -m tests.golden.make PART/NAME`` stores the
new result, and the commit says why.
"""

import math
import os

import pytest

from tests.golden.make import PARTS, compute, frozen, results_of

#: How far numbers may differ, as they do on another processor, by part or by result: texts are
#: projected at random, and the minimum of PLSVM is flat.
TOLERANCES = {"tables": 1e-5, "tables/texts": 1e-3, "estimators/PLSVM": 0.05}
NAMES = [(part, name) for part in PARTS for name in results_of(part)]


def differences(found, expected, tolerance, place=""):
    """Where two results differ, in words."""
    if isinstance(expected, float) and isinstance(found, float):
        if not math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{place}: {found} and not {expected}"
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key in expected.keys() | found.keys():
            if key not in found or key not in expected:
                yield f"{place}.{key}: is {'missing' if key in expected else 'new'}"
            else:
                yield from differences(found[key], expected[key], tolerance, f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, tolerance, f"{place}[{i}]")
    elif found != expected:
        yield f"{place}: {found!r} and not {expected!r}"


@pytest.mark.parametrize(("part", "name"), NAMES, ids=lambda text: text)
def test_as_it_was(part, name, tmp_path):
    expected = frozen(part)[name]
    if (
        isinstance(expected, dict)
        and expected.get("needs")
        and not os.environ.get("SURELABEL_DATA")
    ):
        pytest.skip(f"needs the data set {expected['needs']}: set SURELABEL_DATA")
    found = compute(part, name, tmp_path)
    tolerance = TOLERANCES.get(f"{part}/{name}", TOLERANCES.get(part, 1e-6))
    different = list(differences(found, expected, tolerance))
    assert not different, "\n".join(different[:10])


def test_nothing_is_stored_in_vain():
    assert {part: list(frozen(part)) for part in PARTS} == {
        part: list(results_of(part)) for part in PARTS
    }
