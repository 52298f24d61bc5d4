"""Routes of the room."""

from django.urls import path

from portal.studies import api, views

app_name = "studies"
api_patterns = [
    path("studies", api.StudyListView.as_view(), name="api-study-list"),
    path("studies/<int:study_id>", api.StudyDetailView.as_view(), name="api-study-detail"),
    path("studies/<int:study_id>/cancel", api.CancelView.as_view(), name="api-study-cancel"),
    path("studies/<int:study_id>/again", api.AgainView.as_view(), name="api-study-again"),
    path("traces", api.TraceListView.as_view(), name="api-trace-list"),
    path("traces/<int:trace_id>", api.TraceDetailView.as_view(), name="api-trace-detail"),
]
page_patterns = [
    path("what-if/", views.studies, name="list"),
    path("what-if/new/", views.new, name="new"),
    path("what-if/traces/", views.traces, name="traces"),
    path("what-if/traces/new/", views.upload, name="upload"),
    path("what-if/traces/<int:trace_id>/delete/", views.delete_trace, name="delete-trace"),
    path("what-if/<int:study_id>/", views.study, name="study"),
    path("what-if/<int:study_id>/figures.csv", views.figures, name="figures"),
    path("what-if/<int:study_id>/describe/", views.describe, name="describe"),
    path("what-if/<int:study_id>/cancel/", views.cancel, name="cancel"),
    path("what-if/<int:study_id>/again/", views.again, name="again"),
    path("what-if/<int:study_id>/delete/", views.delete, name="delete"),
]
urlpatterns = page_patterns
