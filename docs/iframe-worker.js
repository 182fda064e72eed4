// Browsers allow pages that are read as files no workers, which the search of this site is. There the
// script of a worker runs in a hidden frame instead.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    const page = this.inside.document;
    page.open();
    page.write("<!doctype html><body></body>");
    page.close();
    this.inside.postMessage = (data) =>
      this.dispatchEvent(new MessageEvent("message", { data }));
    this.ready = new Promise((resolve) => {
      const script = page.createElement("script");
      script.src = url;
      script.onload = resolve;
      page.body.append(script);
    });
  }

  postMessage(data) {
    this.ready.then(() =>
      this.inside.dispatchEvent(new MessageEvent("message", { data }))
    );
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
