"""Plans that differ in one field each: what compare.py says of them."""

import dataclasses
import unittest

import compare
import plans

WAS = plans.Plan("real/1", "0123", "-", "abcd", 1000, 500, 200, 4000, 1.02, 8, 0.5)


def changed(**fields):
    return dataclasses.replace(WAS, **fields)


class CompareTest(unittest.TestCase):
    def test_a_line_is_read_as_it_was_written(self):
        self.assertEqual(plans.Plan.parse(WAS.line()), WAS)

    def test_every_field_but_the_predicted_time_counts(self):
        self.assertTrue(compare.same(WAS, changed(seconds=0.4)))
        for field in ("request", "remedy", "projection"):
            self.assertFalse(compare.same(WAS, changed(**{field: "other"})), field)
        for field in ("moved", "internode", "port", "peak", "rounds"):
            self.assertFalse(compare.same(WAS, changed(**{field: 1})), field)

    def test_a_byte_more_is_worse(self):
        self.assertEqual(compare.faults(WAS, changed(moved=1001)), ["moved 1000 -> 1001 bytes"])
        self.assertEqual(compare.faults(WAS, changed(internode=501)), ["internode 500 -> 501 bytes"])
        self.assertEqual(compare.faults(WAS, changed(moved=999, internode=499)), [])

    def test_port_and_time_may_be_a_hundredth_more(self):
        self.assertEqual(compare.faults(WAS, changed(port=202, seconds=0.505)), [])
        self.assertEqual(compare.faults(WAS, changed(port=203)), ["port 200 -> 203"])
        self.assertEqual(compare.faults(WAS, changed(seconds=0.506)), ["seconds 0.5 -> 0.506"])
        self.assertEqual(compare.faults(changed(port=0), WAS), ["port 0 -> 200"])

    def test_a_peak_may_rise_to_the_budget(self):
        self.assertEqual(compare.faults(WAS, changed(ratio=1.05, rounds=80)), [])
        self.assertEqual(compare.faults(WAS, changed(ratio=1.0501)), ["peak 1.02 -> 1.0501 x max(prev, curr)"])
        self.assertEqual(compare.faults(changed(ratio=1.3), changed(ratio=1.3)), [])

    def test_a_mean_above_one_is_worse(self):
        self.assertTrue(compare.report_worse({"a": WAS, "b": WAS}, {"a": changed(port=201), "b": WAS}))
        self.assertFalse(compare.report_worse({"a": WAS, "b": WAS}, {"a": changed(port=201), "b": changed(port=199)}))

    def test_a_plan_without_a_baseline_is_worse(self):
        self.assertEqual(compare.faults(None, WAS), ["has no line in baseline.txt; add its first plan"])
        self.assertTrue(compare.report_worse({"a": WAS}, {"a": WAS, "b": WAS}))
        self.assertFalse(compare.report_worse({"a": WAS, "b": WAS}, {"a": WAS}))

    def test_a_plan_of_another_request_is_worse(self):
        self.assertTrue(compare.faults(WAS, changed(request="4567")))


if __name__ == "__main__":
    unittest.main()
