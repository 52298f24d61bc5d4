"""The API's own description, for programs."""

from typing import Any

import yaml
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

    @ops.download("application/yaml")
    def get(self, request: Request) -> HttpResponse:
        """The same as the JSON."""
        text = yaml.safe_dump(openapi.document(), sort_keys=False, allow_unicode=True, width=100)
        return HttpResponse(text, content_type="application/yaml; charset=utf-8")
