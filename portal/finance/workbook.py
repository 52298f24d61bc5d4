"""A statement as a spreadsheet: what it is above, its lines as a table, the sums below."""

from datetime import datetime
from decimal import Decimal
from io import BytesIO
from zoneinfo import ZoneInfo

import xlsxwriter
from django.utils.translation import gettext as _

from portal.common import money
from portal.finance import exports, words
from portal.finance.selectors import StatementDetail

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_WIDTHS = (30, 12, 14, 12, 18, 18, 14, 16, 16, 10)


def of(detail: StatementDetail, *, money_too: bool) -> bytes:
    """The file, in the reader's language and the statement's zone; no cell is a formula."""
    statement = detail.statement
    file = BytesIO()
    book = xlsxwriter.Workbook(
        file, {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    )
    bold = book.add_format({"bold": True})
    formats = {
        datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        Decimal: book.add_format({"num_format": "#,##0.######"}),
    }
    sheet = book.add_worksheet(statement.month)
    for column, width in enumerate(_WIDTHS):
        sheet.set_column(column, column, width)
    head = [
        (statement.team_path or statement.team_name, words.month(
            statement.period_starts_at, statement.zone)),
        (_("State"), str(statement.state.label)),
        (_("Revision"), statement.revision),
        (_("Zone of times"), statement.zone),
    ]  # fmt: skip
    if money_too:
        head.append((_("To pay"), money.show(statement.with_tax_micro, statement.currency)))
    for row, pair in enumerate(head):
        sheet.write_row(row, 0, pair, bold if row == 0 else None)
    first = len(head) + 1
    zone = ZoneInfo(statement.zone)
    for offset, values in enumerate(exports.for_people(detail, money_too=money_too)):
        for column, value in enumerate(values):
            if isinstance(value, datetime):
                # A spreadsheet has no zones.
                value = value.astimezone(zone).replace(tzinfo=None)
            style = bold if offset == 0 else formats.get(type(value))
            sheet.write(first + offset, column, value, style)
    book.close()
    return file.getvalue()
