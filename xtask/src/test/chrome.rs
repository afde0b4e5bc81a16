//! A page in headless Chromium that a test drives as a person does, over the Chrome DevTools Protocol.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::base::program::at;

/// Longest wait for an answer of the browser.
const ANSWER: Duration = Duration::from_secs(60);
/// Time between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(20);
/// Flags of Chromium: no window, no services.
pub(super) const FLAGS: [&str; 9] = [
    "--headless",
    "--hide-scrollbars",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];
/// Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// Size and colours of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_dark: bool,
}

/// A browser with one page.
pub(super) struct Page {
    child: Child,
    orders: RefCell<ChildStdin>,
    answers: Receiver<Value>,
    /// Id of the last order.
    last: RefCell<u64>,
    session: String,
    /// Errors of scripts, and addresses that the page asked for.
    pub(super) seen: RefCell<Vec<Seen>>,
}

/// What the browser reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// An exception, or a message of the log.
    Error(String),
    /// A request for this address.
    Request(String),
}

impl Page {
    /// Opens `url` in a new browser, whose profile is in `scratch`.
    pub(super) fn open(browser: &Path, scratch: &Path, url: &str, view: View) -> Result<Self, String> {
        let mut sh = Command::new("sh");
        sh.args(["-c", PIPES]).arg(browser).args(FLAGS).args(["--mute-audio", "--remote-debugging-pipe"]);
        sh.arg(format!("--user-data-dir={}", scratch.display())).arg("about:blank");
        let mut child = sh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let (orders, output) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
        let (send, answers) = channel();
        thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { break };
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let (orders, last, seen) = (RefCell::new(orders), RefCell::new(0), RefCell::default());
        let mut page = Self { child, orders, answers, last, session: String::new(), seen };
        let targets = page.call("Target.getTargets", json!({}))?;
        let is_page = |target: &&Value| target["type"] == "page";
        let target = targets["targetInfos"].as_array().and_then(|all| all.iter().find(is_page)).ok_or("no page")?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        page.session =
            page.call("Target.attachToTarget", attach)?["sessionId"].as_str().unwrap_or_default().to_string();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        page.set(view)?;
        page.call("Page.navigate", json!({ "url": url }))?;
        Ok(page)
    }

    /// Sets size and colours.
    pub(super) fn set(&self, view: View) -> Result<(), String> {
        let View { width, height, is_dark } = view;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media).map(drop)
    }

    /// The result of a command of the protocol.
    pub(super) fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        *self.last.borrow_mut() += 1;
        let id = *self.last.borrow();
        let mut order = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            order["sessionId"] = json!(self.session);
        }
        let lost = |error: std::io::Error| format!("{method}: {error}");
        self.orders.borrow_mut().write_all(format!("{order}\0").as_bytes()).map_err(lost)?;
        let end = Instant::now() + ANSWER;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut message = self.answers.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("{method}: no answer in {ANSWER:?}"),
                RecvTimeoutError::Disconnected => format!("{method}: the browser has ended"),
            })?;
            match message["id"].as_u64() {
                Some(answered) if answered == id => {
                    return match message.get("error") {
                        Some(error) => Err(format!("{method}: {error}")),
                        None => Ok(message["result"].take()),
                    };
                }
                Some(_) => {}
                None => self.note(&message),
            }
        }
    }

    fn note(&self, event: &Value) {
        let params = &event["params"];
        let seen = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => Seen::Error(params["exceptionDetails"].to_string()),
            "Log.entryAdded" => Seen::Error(params["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                Seen::Request(params["request"]["url"].as_str().unwrap_or_default().to_string())
            }
            _ => return,
        };
        self.seen.borrow_mut().push(seen);
    }

    /// Value of a JavaScript expression; a promise is awaited.
    pub(super) fn eval(&self, script: &str) -> Result<Value, String> {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{script}: {details}")),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Text that an expression gives.
    pub(super) fn text(&self, script: &str) -> Result<String, String> {
        Ok(match self.eval(&format!("String({script})"))? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// Waits until a JavaScript condition holds.
    pub(super) fn wait(&self, condition: &str, limit: Duration) -> Result<(), String> {
        let end = Instant::now() + limit;
        loop {
            if self.eval(&format!("Boolean(document.body && ({condition}))"))? == json!(true) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("after {limit:?} not: {condition}"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Place of an element's point, as fractions of its width and height. Scrolls it into view.
    fn point(&self, selector: &str, across: f64) -> Result<(f64, f64), String> {
        let script = format!(
            "(() => {{ const one = document.querySelector({selector:?}); one.scrollIntoView({{ block: 'center' }});
            const box = one.getBoundingClientRect(); return [box.left + {across} * box.width, box.top + box.height / 2]; }})()"
        );
        let found = self.eval(&script)?;
        found[0].as_f64().zip(found[1].as_f64()).ok_or_else(|| format!("{selector}: no place"))
    }

    fn mouse(&self, kind: &str, (x, y): (f64, f64)) -> Result<(), String> {
        let buttons = u8::from(kind != "mouseReleased");
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event).map(drop)
    }

    /// Clicks on an element.
    pub(super) fn click(&self, selector: &str) -> Result<(), String> {
        let at = self.point(selector, 0.5)?;
        ["mousePressed", "mouseReleased"].iter().try_for_each(|kind| self.mouse(kind, at))
    }

    /// Drags with the mouse from one point of an element to another, in `steps` steps.
    pub(super) fn drag(&self, selector: &str, (from, to): (f64, f64), steps: u32) -> Result<(), String> {
        let (begin, end) = (self.point(selector, from)?, self.point(selector, to)?);
        self.mouse("mousePressed", begin)?;
        for step in 1..=steps {
            let part = f64::from(step) / f64::from(steps);
            let at = (begin.0 + part * (end.0 - begin.0), begin.1 + part * (end.1 - begin.1));
            self.mouse("mouseMoved", at)?;
            thread::sleep(Duration::from_millis(16));
        }
        self.mouse("mouseReleased", end)
    }

    /// Presses a key, such as `ArrowRight` or `Tab`.
    pub(super) fn key(&self, key: &str) -> Result<(), String> {
        let code = match key {
            "Tab" => 9,
            " " => 32,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if key == " " && kind == "keyDown" {
                event["text"] = json!(" ");
            }
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Replaces the text of a field as by typing.
    pub(super) fn write(&self, selector: &str, text: &str) -> Result<(), String> {
        self.eval(&format!(
            "(() => {{ const one = document.querySelector({selector:?}); one.focus(); one.select(); }})()"
        ))?;
        self.call("Input.insertText", json!({ "text": text })).map(drop)
    }

    /// Writes a picture of the whole page.
    pub(super) fn picture(&self, path: &Path) -> Result<(), String> {
        let size = self.call("Page.getLayoutMetrics", json!({}))?["cssContentSize"].clone();
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.call("Page.captureScreenshot", params)?;
        let bytes = STANDARD.decode(answer["data"].as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
        at(path, std::fs::write(path, bytes))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
