from decimal import Decimal

from billing.bill import Bill, Item

D = Decimal


def test_net_is_the_sum_of_all_lines():
    assert Bill([Item("pens", 3, D("1.20"), D("0.19")), Item("ink", 1, D("4.00"), D("0.19"))]).net() == D("7.60")


def test_vat_of_one_line():
    assert Bill([Item("desk", 1, D("100.00"), D("0.19"))]).vat() == D("19.00")


def test_vat_is_rounded_once_for_each_rate():
    bill = Bill([Item("tea", 1, D("0.33"), D("0.10")), Item("bun", 1, D("0.33"), D("0.10"))])
    assert bill.vat() == D("0.07")


def test_gross_of_two_rates():
    bill = Bill([Item("book", 1, D("9.99"), D("0.07")), Item("lamp", 1, D("20.00"), D("0.19"))])
    assert bill.gross() == D("34.49")
