"""The API's own description, for programs."""

from typing import Any

from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common.api_shapes import FREE
from portal.operations import openapi


class YamlRenderer(BaseRenderer):
    """Lets a client ask for YAML; the view answers with the text itself."""

    media_type = "application/yaml"
    format = "yaml"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """Only faults come here."""
        return JSONRenderer().render(data)


class OpenApiJsonView(APIView):
    """The OpenAPI document of this API."""

    @ops.operation(FREE)
    def get(self, request: Request) -> Response:
        """As JSON."""
        return Response(openapi.document())


class OpenApiYamlView(APIView):
    """The OpenAPI document of this API, as YAML."""

    renderer_classes = [YamlRenderer, JSONRenderer]

    @ops.operation(FREE, media=("application/yaml",))
    def get(self, request: Request) -> HttpResponse:
        """The same as the JSON."""
        return HttpResponse(openapi.as_yaml(), content_type="application/yaml; charset=utf-8")
