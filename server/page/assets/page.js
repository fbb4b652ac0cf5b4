// Keeps the live part of a page up to date. Without it a page shows the state of its last load.
'use strict';
(() => {
  const live = document.getElementById('live');
  if (live === null) return;
  const said = document.getElementById('live-state');
  const charts = document.getElementById('charts');
  const chartsPeriodMs = 30000;
  let stream = null;
  let jobState = stateOf();

  function stateOf() {
    const element = live.querySelector('[data-state]');
    return element === null ? '' : element.dataset.state;
  }

  // Changes only what differs, so that focus, scrolling and selections stay.
  function bring(now, next) {
    if (now.nodeType !== next.nodeType || now.nodeName !== next.nodeName) {
      now.replaceWith(next);
      return;
    }
    if (now.nodeType !== Node.ELEMENT_NODE) {
      if (now.data !== next.data) now.data = next.data;
      return;
    }
    for (const {name, value} of [...next.attributes]) {
      if (now.getAttribute(name) !== value) now.setAttribute(name, value);
    }
    for (const {name} of [...now.attributes]) {
      // What the reader has unfolded stays so.
      if (!next.hasAttribute(name) && name !== 'open') now.removeAttribute(name);
    }
    bringChildren(now, next);
  }
  function bringChildren(now, next) {
    const old = [...now.childNodes];
    const fresh = [...next.childNodes];
    for (let i = 0; i < fresh.length; ++i) {
      if (i < old.length) bring(old[i], fresh[i]);
      else now.append(fresh[i]);
    }
    for (const rest of old.slice(fresh.length)) rest.remove();
  }
  // The server escapes all words that are not its own; a parsed document runs no script.
  function parsed(html) {
    return new DOMParser().parseFromString(html, 'text/html').body;
  }

  async function refreshCharts() {
    if (charts === null || document.hidden) return;
    try {
      const answer = await fetch(charts.dataset.source, {credentials: 'same-origin'});
      if (answer.ok) bringChildren(charts, parsed(await answer.text()));
    } catch {
      // The stream says that the server is away.
    }
  }

  function open() {
    if (stream !== null) return;
    stream = new EventSource(live.dataset.feed);
    stream.addEventListener('open', () => { said.textContent = 'Live.'; });
    stream.addEventListener('error', () => {
      said.textContent = 'The connection is lost; this page tries again.';
      // After an answer that is no stream the browser gives up; the server may be back later.
      if (stream.readyState === EventSource.CLOSED) {
        close();
        setTimeout(() => { if (!document.hidden) open(); }, 5000);
      }
    });
    stream.addEventListener('fragment', (event) => {
      bringChildren(live, parsed(event.data));
      live.dataset.events = String(Number(live.dataset.events || 0) + 1);
      if (stateOf() !== jobState) {
        jobState = stateOf();
        refreshCharts();
      }
    });
  }
  function close() {
    if (stream !== null) stream.close();
    stream = null;
  }

  // A hidden page costs nothing, and a browser has few connections to one server.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else open();
  });
  if (charts !== null) {
    setInterval(() => { if (jobState === 'running') refreshCharts(); }, chartsPeriodMs);
  }
  if (!document.hidden) open();
})();
