"""Routes of the room."""

from django.urls import path

from portal.kubernetes.api import clusters as api
from portal.kubernetes.api import jobs as api_of_jobs
from portal.kubernetes.api import moves as api_of_moves
from portal.kubernetes.views import clusters, moves, new_job

app_name = "kubernetes"
page_patterns = [
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/<int:cluster_id>/", clusters.cluster, name="cluster"),
    path("clusters/<int:cluster_id>/log/", clusters.log, name="log"),
    path("clusters/<int:cluster_id>/jobs/", clusters.jobs, name="jobs"),
    path("clusters/<int:cluster_id>/ray/", clusters.ray, name="ray"),
    path("clusters/<int:cluster_id>/dry-run/", clusters.dry_run, name="dry-run"),
    path("clusters/<int:cluster_id>/mode/", moves.mode, name="mode"),
    path("clusters/<int:cluster_id>/pause/", moves.pause, name="pause"),
    path("clusters/<int:cluster_id>/resume/", moves.resume, name="resume"),
    path("clusters/<int:cluster_id>/undo/", moves.undo, name="undo"),
    path("clusters/syncs/<int:run_id>/", clusters.run, name="run"),
    path("clusters/drift/<int:drift_id>/take-over/", moves.take_over, name="take-over"),
    path("new-job/", new_job.new_job, name="new-job"),
    path("new-job/check/", new_job.check, name="new-job-check"),
    path("new-job/manifest.yaml", new_job.download, name="new-job-yaml"),
]
api_patterns = [
    path("clusters", api.ClusterListView.as_view(), name="api-cluster-list"),
    path("clusters/<int:cluster_id>", api.ClusterDetailView.as_view(), name="api-cluster-detail"),
    path("clusters/<int:cluster_id>/drift", api.DriftListView.as_view(), name="api-drift-list"),
    path("clusters/<int:cluster_id>/syncs", api.SyncListView.as_view(), name="api-sync-list"),
    path("clusters/<int:cluster_id>/asks", api.AskListView.as_view(), name="api-ask-list"),
    path("clusters/<int:cluster_id>/stops", api.StopListView.as_view(), name="api-stop-list"),
    path("clusters/<int:cluster_id>/ray", api.RayListView.as_view(), name="api-ray-list"),
    path("clusters/<int:cluster_id>/dry-run", api.DryRunView.as_view(), name="api-cluster-dry-run"),
    path(
        "clusters/<int:cluster_id>/mode", api_of_moves.ModeView.as_view(), name="api-cluster-mode"
    ),
    path(
        "clusters/<int:cluster_id>/pause",
        api_of_moves.PauseView.as_view(),
        name="api-cluster-pause",
    ),
    path(
        "clusters/<int:cluster_id>/resume",
        api_of_moves.ResumeView.as_view(),
        name="api-cluster-resume",
    ),
    path(
        "clusters/<int:cluster_id>/undo", api_of_moves.UndoView.as_view(), name="api-cluster-undo"
    ),
    path("syncs/<int:run_id>", api.SyncDetailView.as_view(), name="api-sync-detail"),
    path("jobs/check", api_of_jobs.JobCheckView.as_view(), name="api-job-check"),
    path(
        "drift/<int:drift_id>/take-over",
        api_of_moves.TakeOverView.as_view(),
        name="api-drift-take-over",
    ),
]
urlpatterns = page_patterns
