(function () {
  "use strict";
  var root = document.documentElement, button = document.getElementById("theme");
  function dark() {
    var asked = root.getAttribute("data-theme");
    return asked ? asked === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function label() { button.textContent = dark() ? "Light" : "Dark"; }
  try { var kept = localStorage.getItem("tadge-theme"); if (kept) root.setAttribute("data-theme", kept); } catch (e) { /* no storage here */ }
  button.addEventListener("click", function () {
    var next = dark() ? "light" : "dark";
    root.setAttribute("data-theme", next);
    try { localStorage.setItem("tadge-theme", next); } catch (e) { /* no storage here */ }
    label();
  });
  label();

  var data = document.getElementById("node-data"), map = document.getElementById("nodes");
  if (!data || !map) return;
  var told = JSON.parse(data.textContent), output = document.getElementById("told"), find = document.getElementById("find");
  var circles = Array.prototype.slice.call(map.querySelectorAll("circle"));
  function tell(place) {
    var row = told[place];
    output.textContent = row[0] + ": " + row[1] + (row[2] ? "; " + row[2] : "");
  }
  map.addEventListener("pointerover", function (event) {
    var place = event.target.getAttribute("data-n");
    if (place !== null) tell(Number(place));
  });
  map.addEventListener("click", function (event) {
    var place = event.target.getAttribute("data-n");
    if (place !== null) { find.value = told[Number(place)][0]; search(); tell(Number(place)); }
  });
  function search() {
    var wanted = find.value.trim().toLowerCase(), hits = [], exact = -1;
    told.forEach(function (row, place) {
      var name = row[0].toLowerCase();
      if (wanted && name.indexOf(wanted) >= 0) hits.push(place);
      if (name === wanted) exact = place;
    });
    var chosen = exact >= 0 ? [exact] : hits;
    circles.forEach(function (circle, place) {
      var found = chosen.indexOf(place) >= 0;
      circle.classList.toggle("found", found);
      circle.classList.toggle("dimmed", Boolean(wanted) && !found);
      if (found) map.appendChild(circle);
    });
    if (!wanted) output.textContent = "Point at a node, or search.";
    else if (chosen.length === 1) tell(chosen[0]);
    else output.textContent = chosen.length ? chosen.length + " nodes on the map" : "no such node on the map";
  }
  find.addEventListener("input", search);
})();
