/* A button that copies the text of another element; without a script it stays hidden. */
(function () {
  "use strict";

  function show() {
    document.querySelectorAll("[data-copy][hidden]").forEach(function (button) {
      button.hidden = false;
    });
  }

  function select(element) {
    var range = document.createRange();
    range.selectNodeContents(element);
    var chosen = window.getSelection();
    chosen.removeAllRanges();
    chosen.addRange(range);
  }

  /* The clipboard is closed to pages without TLS: then the text is at least selected. */
  function copy(element) {
    if (navigator.clipboard) { return navigator.clipboard.writeText(element.textContent); }
    select(element);
    return document.execCommand("copy") ? Promise.resolve() : Promise.reject(new Error("refused"));
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy]");
    if (!button) { return; }
    var element = document.getElementById(button.dataset.copy);
    var label = button.dataset.label || button.textContent;
    button.dataset.label = label;
    copy(element).then(function () {
      button.textContent = button.dataset.copied;
      window.setTimeout(function () { button.textContent = label; }, 2000);
    }, function () { select(element); });
  });

  document.addEventListener("htmx:afterSettle", show);
  show();
})();
