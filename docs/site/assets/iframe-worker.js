// A browser gives a page from the disk no Worker. The search runs in a hidden frame there instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script>
        var postMessage = (data) => parent.postMessage(data, "*");
        var importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, fail) => {
          const script = document.createElement("script");
          Object.assign(script, { src: url, onload: done, onerror: fail });
          document.head.append(script);
        })), Promise.resolve());
      </` + `script><script src="${url}"></` + `script>`;
      this.loaded = new Promise((done) => this.frame.addEventListener("load", done));
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
