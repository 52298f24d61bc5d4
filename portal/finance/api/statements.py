"""Statements, their exports, and marking them paid."""

from django.http import HttpResponse, HttpResponseBase
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock, csv
from portal.common.api import CREATED, check_if_match, etag, once
from portal.common.api_shapes import page
from portal.finance import (
    downloads,
    exports,
    months,
    presenting,
    schemas,
    selectors,
    services,
    workbook,
)
from portal.finance.api import common
from portal.finance.api.common import AnyRenderer, CsvRenderer, Strict
from portal.finance.printing import CannotPrint
from portal.finance.services import Correction
from portal.inventory import parameters
from portal.teams.middleware import access_of


class StatementListView(APIView):
    """Statements the asker may see, newest month first."""

    @ops.operation(
        page(schemas.STATEMENT),
        query=(
            ops.text("month", "Such as 2026-11."),
            ops.TEAM,
            ops.word("revisions", ["1"], "Replaced ones as well."),
        ),
    )
    def get(self, request: Request) -> Response:
        """Filter by `month` (2026-11) and `team`; `revisions=1` shows replaced ones as well."""
        name = request.query_params.get("month", "")
        month_id: int | None = None
        if name:
            month_id = selectors.get_month(instant=months.parse(name)).id or 0
        rows = selectors.PagedStatements(
            access_of(request._request),
            month_id=month_id,
            team_id=parameters.whole(request, "team"),
            revisions=parameters.one_of(request, "revisions", ["1"]) is not None,
        )
        return common.page(self, request, rows, presenting.statement)


class StatementDetailView(APIView):
    """One statement with its lines, as JSON or, by the Accept header, as CSV."""

    renderer_classes = [JSONRenderer, CsvRenderer]

    @ops.operation(schemas.STATEMENT_IN_FULL, tagged=True, media=("application/json", "text/csv"))
    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """As it stands; the ETag is its version."""
        detail = selectors.get_statement(statement_id=statement_id)
        if request.accepted_renderer.format == "csv":
            return _csv(detail)
        response = Response(common.shown(presenting.detail(detail)))
        response["ETag"] = etag(detail.statement.version)
        return response


class StatementCsvView(APIView):
    """One statement's lines as CSV."""

    renderer_classes = [CsvRenderer, JSONRenderer]

    @ops.download("text/csv", tagged=True)
    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """Words that never change, figures that are exact."""
        return _csv(selectors.get_statement(statement_id=statement_id))


class XlsxView(APIView):
    """One statement as a spreadsheet."""

    renderer_classes = [AnyRenderer, JSONRenderer]

    @ops.download(workbook.MEDIA_TYPE)
    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """In the asker's language."""
        return downloads.xlsx(statement_id)


class FocusView(APIView):
    """One statement in the columns of FOCUS 1.2."""

    renderer_classes = [CsvRenderer, JSONRenderer]

    @ops.download("text/csv")
    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """Its billed costs add up to what is to be paid, tax rows among them."""
        detail = selectors.get_statement(statement_id=statement_id)
        return downloads.focus_csv(f"focus-{detail.statement.month}-{statement_id}", [detail])


class PdfView(APIView):
    """One statement on paper."""

    renderer_classes = [AnyRenderer, JSONRenderer]

    @ops.download("application/pdf", also=((202, "It is being laid out."),))
    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """In the asker's language; 202 with Retry-After while it is being laid out."""
        row = downloads.printed(statement_id, now=clock.now())
        if row.content is not None:
            return downloads.pdf(row)
        if row.fault:
            raise CannotPrint(row.fault)
        return HttpResponse(status=202, headers={"Retry-After": "3"})


class PaidView(APIView):
    """A final statement has been paid."""

    @ops.operation(schemas.STATEMENT_IN_FULL, edits=True)
    def post(self, request: Request, statement_id: int) -> Response:
        """No body; If-Match with the version one saw. A repeat answers the same."""

        def act() -> Response:
            before = selectors.get_statement(statement_id=statement_id)
            check_if_match(request, before.statement.version)
            services.mark_paid(
                statement_id=statement_id, actor_id=common.who(request), now=clock.now()
            )
            detail = selectors.get_statement(statement_id=statement_id)
            response = Response(common.shown(presenting.detail(detail)))
            response["ETag"] = etag(detail.statement.version)
            return response

        return once(request, act)


class CorrectionSerializer(Strict):
    """What was wrong with one line; what is left out was right."""

    line = serializers.IntegerField()
    rate_micro = serializers.IntegerField(required=False, allow_null=True, default=None)
    tax_basis_points = serializers.IntegerField(required=False, allow_null=True, default=None)
    team = serializers.IntegerField(required=False, allow_null=True, default=None)


class RevisionSerializer(Strict):
    """The corrections and why."""

    reason = serializers.CharField(max_length=500)
    corrections = CorrectionSerializer(many=True)


class RevisionView(APIView):
    """The next revision of a final statement."""

    @ops.operation(schemas.STATEMENT_IN_FULL, body=RevisionSerializer, status=201, edits=True)
    def post(self, request: Request, statement_id: int) -> Response:
        """`reason` and `corrections`; If-Match with the version one saw."""

        def act() -> Response:
            before = selectors.get_statement(statement_id=statement_id)
            check_if_match(request, before.statement.version)
            given = RevisionSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            said = given.validated_data
            new = services.revise_statement(
                statement_id=statement_id,
                corrections=[
                    Correction(line_id=one.pop("line"), team_id=one.pop("team"), **one)
                    for one in said["corrections"]
                ],
                reason=said["reason"], actor_id=common.who(request), now=clock.now(),
            )  # fmt: skip
            detail = selectors.get_statement(statement_id=new.pk)
            return Response(common.shown(presenting.detail(detail)), status=CREATED)

        return once(request, act)


class CommentSerializer(Strict):
    """A remark; `line` left out, it is about the whole statement."""

    text = serializers.CharField()
    line = serializers.IntegerField(required=False, allow_null=True, default=None)


class CommentListView(APIView):
    """What was said about a statement and its lines."""

    @ops.operation(page(schemas.REMARK))
    def get(self, request: Request, statement_id: int) -> Response:
        """Oldest first; revisions of a statement share them."""
        detail = selectors.get_statement(statement_id=statement_id)
        rows = list(detail.comments)
        lines = {line.comment_key: line.id for line in detail.lines}
        return common.page(self, request, rows, lambda row: presenting.comment(row, lines))

    @ops.operation(schemas.REMARKED, body=CommentSerializer, status=201)
    def post(self, request: Request, statement_id: int) -> Response:
        """`text`, and `line` by its id."""

        def act() -> Response:
            given = CommentSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            made = services.comment(
                statement_id=statement_id, text=given.validated_data["text"],
                line_id=given.validated_data["line"], actor_id=common.who(request),
                now=clock.now(),
            )  # fmt: skip
            return Response({"id": made.pk, "at": made.at}, status=CREATED)

        return once(request, act)


def _csv(detail: selectors.StatementDetail) -> HttpResponseBase:
    statement = detail.statement
    name = f"statement-{statement.month}-{statement.id}"
    response = csv.response(name, exports.for_programs(detail, money_too=selectors.shows_money()))
    response["ETag"] = etag(statement.version)
    return response
