"""Dates, times and durations are learned from."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelabel
from surelabel.data.table_files import read_table, write_table
from surelabel.exceptions import TableError
from surelabel.tables.columns import Feature, guess_kinds
from surelabel.tables.encoding import TableEncoder
from surelabel.tables.times import ORDERS, find_order, parse_times

WRITTEN = {
    "year-month-day": "%Y-%m-%d %H:%M:%S",
    "day.month.year": "%d.%m.%Y %H:%M:%S",
    "month/day/year": "%m/%d/%Y %I:%M:%S %p",
}


@given(st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 1, 1)), st.sampled_from([*WRITTEN]))
def test_times_are_read_as_they_were_written(time, order):
    days, seconds, wrong = parse_times(pa.array([time.strftime(WRITTEN[order])]), order)
    assert not wrong[0]
    expected = time.replace(microsecond=0)
    assert dt.datetime(1970, 1, 1) + dt.timedelta(days[0], seconds[0]) == expected


@given(st.lists(st.text(max_size=20)))
def test_no_text_breaks_the_parser(texts):
    for order in ORDERS:
        parse_times(pa.array(texts, pa.string()), order)


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["2020-01-31", "2020-02-01T10:00:00Z", "2020-02-01 10:00:00.5 +02:00"], "year-month-day"),
        (["2020/1/3"], "year-month-day"),
        (["31.01.2020", "01.02.2020 9:30"], "day.month.year"),
        (["12/31/2020", "01/02/2020"], "month/day/year"),
        (["01/02/2020", "02/03/2020"], None),  # or the reverse
        (["31/12/2020", "12/31/2020"], None),
        (["9:30", "23:59:59"], "clock"),
        (["9:30 am", "12:00 P.M."], "clock"),
        (["25/11/63", "5/11/63"], "day.month.year"),  # as in the table baboon of R
        (["13:00 PM"], None),
        (["Jan 1 2000"], None),
        (["2020-02-30"], None),
        (["25:00"], None),
        (["tomorrow"], None),
    ],
)
def test_the_order_is_found_where_it_is_clear(texts, order):
    assert find_order(pa.array(texts)) == order


def test_years_of_two_digits_are_those_from_1930_on():
    days, _, wrong = parse_times(pa.array(["1.1.30", "1.1.29", "1.1.70"]), "day.month.year")
    assert not wrong.any()
    assert days.tolist() == [
        (dt.date(y, 1, 1) - dt.date(1970, 1, 1)).days for y in (1930, 2029, 1970)
    ]


def encoded(values, kind="time"):
    table = pa.table({"t": values})
    encoder = TableEncoder([Feature("t", kind)]).fit(table)
    return encoder, encoder.transform(table)


def test_places_in_year_week_and_day_are_points_on_circles():
    times = [dt.datetime(2020, 1, 6) + dt.timedelta(days=d, hours=d % 24) for d in range(800)]
    encoder, X = encoded(pa.array(times, pa.timestamp("us")))
    assert encoder.get_feature_names_out().tolist() == [
        "t",
        "t season sine",
        "t season cosine",
        "t weekday sine",
        "t weekday cosine",
        "t hour sine",
        "t hour cosine",
    ]
    np.testing.assert_allclose(X[:, 0].std(), 1)
    np.testing.assert_allclose(X[::2, 1::2][:, :3] ** 2 + X[::2, 2::2] ** 2, 1)
    np.testing.assert_allclose(X[::7, 3:5], np.tile([0, 1], (115, 1)), atol=1e-9)  # Mondays
    assert np.linalg.norm(X[0, 1:3] - X[365, 1:3]) < 0.02
    for values in (
        pa.array(times, pa.timestamp("ns")),
        pa.array([str(time) for time in times]),
        pa.array(times, pa.timestamp("us", "UTC")),
    ):
        np.testing.assert_allclose(encoded(values)[1], X, atol=1e-6)


def test_what_does_not_vary_is_left_out_and_missing_is_told():
    encoder, X = encoded([dt.date(2020, 1, 5), None, dt.date(2021, 3, 1)])
    assert X.shape == (3, 6)
    assert encoder.get_feature_names_out()[-1] == "t is missing"
    assert X[1].tolist() == [0, 0, 0, 0, 0, 1]
    assert encoded([dt.time(3), dt.time(15)])[1].shape == (2, 2)
    assert encoded(["3:00", "15:00", "NA"])[1].shape == (3, 3)


def test_a_model_reads_dates_of_other_types_and_refuses_what_is_none():
    table = pa.table({"t": ["31.01.2020", "01.02.2020", "05.06.2021"]})
    encoder = TableEncoder([Feature("t", "time")]).fit(table)
    typed = pa.table({"t": [dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(2021, 6, 5)]})
    np.testing.assert_allclose(encoder.transform(typed), encoder.transform(table))
    with pytest.raises(TableError, match=r"row 2, column 't': 'soon' where a date or time is nee"):
        encoder.transform(pa.table({"t": ["31.01.2020", "soon"]}))
    with pytest.raises(TableError, match="whole numbers, not dates"):
        encoder.transform(pa.table({"t": [1, 2]}))


def test_kinds_of_times_and_durations():
    table = pa.table(
        {
            "day": [dt.date(2020, 1, 5 + i % 9) for i in range(20)],
            "same": [dt.date(2020, 1, 5)] * 20,
            "for": [dt.timedelta(hours=i * i) for i in range(20)],
            "text": [f"2020-01-{i + 1:02}" for i in range(20)],
            "unclear": [f"01/{i % 9 + 1:02}/2020" for i in range(20)],
            "yes": [i % 3 == 0 for i in range(20)],
        }
    )
    kinds = dict(zip(table.column_names, guess_kinds(table, table.column_names), strict=True))
    assert {name: guess.kind for name, guess in kinds.items()} == {
        "day": "time",
        "same": None,
        "for": "number",
        "text": "time",
        "unclear": None,
        "yes": "category",
    }
    assert "could be swapped" in kinds["unclear"].reason


def test_the_season_is_learned(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 1500, 240), "D")
    summer = np.isin(days.month, (4, 5, 6, 7, 8, 9))
    labels = np.where(rng.random(240) < 0.4, "beach|ski", np.where(summer, "beach", "ski"))
    table = pd.DataFrame({"when": days, "labels": labels})
    found = surelabel.clean(table, labels="labels")
    truth = np.where(summer, "beach", "ski")
    assert np.mean(found.frame["label"] == truth) > 0.93
    surelabel.save_model(found.model, tmp_path / "a.model")
    write_table(pa.table({"when": ["2020-07-01", "2020-01-01"]}), tmp_path / "new.csv")
    new = surelabel.predict(
        surelabel.load_model(tmp_path / "a.model"), read_table(tmp_path / "new.csv")
    )
    assert new["label"].to_pylist() == ["beach", "ski"]


def test_times_of_day_end_at_midnight():
    assert guess_kinds(pa.table({"a": ["23:10:05", "00:11:07"]}), ["a"])[0].kind == "time"
    (guess,) = guess_kinds(pa.table({"a": ["39:10:05", "00:11:07"]}), ["a"])
    assert guess.kind is None
    assert "different formats" in guess.reason
