//! The programs' side of the contract in ../../README.md.

use rdkafka::client::OAuthToken;
use rdkafka::consumer::ConsumerContext;
use rdkafka::{ClientConfig, ClientContext};
use serde_json::{json, Value};
use std::error::Error;
use std::io::{stdin, stdout, BufRead, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 10 numbers every 10 ms: about 1,000 a second.
pub const NUMBERS_AT_A_TIME: usize = 10;
pub const PAUSE: Duration = Duration::from_millis(10);
pub const UNANSWERED_MAX: usize = 200;
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const WITHIN: Duration = Duration::from_secs(20);

const PROGRESS_EVERY: usize = 100;

pub type Outcome = Result<Value, Box<dyn Error>>;
pub type Operation = fn(&Request) -> Outcome;

/// One line of standard input.
pub struct Request(Value);

impl Request {
    pub fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    pub fn number(&self, field: &str) -> i64 {
        self.0[field].as_i64().unwrap_or_default()
    }

    pub fn flag(&self, field: &str) -> bool {
        self.0[field].as_bool().unwrap_or_default()
    }

    pub fn count(&self) -> Option<usize> {
        self.0["count"].as_u64().map(|count| count as usize)
    }

    pub fn field(&self, field: &str) -> &Value {
        &self.0[field]
    }
}

const SECURITY: [(&str, &str); 7] = [
    ("protocol", "security.protocol"),
    ("authority", "ssl.ca.location"),
    ("certificate", "ssl.certificate.location"),
    ("certificate", "ssl.key.location"),
    ("mechanism", "sasl.mechanism"),
    ("user", "sasl.username"),
    ("password", "sasl.password"),
];

/// The settings that every client of a request has.
pub fn connected(request: &Request) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", request.text("bootstrap"));
    for (field, name) in SECURITY {
        if let Some(value) = request.field("security")[field].as_str() {
            config.set(name, value);
        }
    }
    config
}

/// The signed token of a request, which librdkafka asks for when the mechanism is OAUTHBEARER.
pub struct Bearer(String);

pub fn bearer(request: &Request) -> Bearer {
    Bearer(request.field("security")["bearer"].as_str().unwrap_or_default().to_owned())
}

impl Bearer {
    pub fn token(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let lifetime = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(300);
        Ok(OAuthToken {
            token: self.0.clone(),
            principal_name: String::new(),
            lifetime_ms: lifetime.as_millis() as i64,
        })
    }
}

impl ClientContext for Bearer {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.token()
    }
}

impl ConsumerContext for Bearer {}

/// Answers requests until standard input ends.
pub fn serve(operation: fn(&str) -> Option<Operation>) {
    for line in stdin().lock().lines() {
        let said = line.map_err(Into::into).and_then(|line| answer(operation, &line));
        say(&match said {
            Ok(fields) => json!({"ok": fields}),
            Err(problem) => json!({"error": problem.to_string()}),
        });
    }
}

fn answer(operation: fn(&str) -> Option<Operation>, line: &str) -> Outcome {
    let request = Request(serde_json::from_str(line)?);
    let chosen = operation(request.text("operation")).ok_or("no such operation")?;
    chosen(&request)
}

fn say(line: &Value) {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("standard output is open");
}

/// Reports progress in steps.
#[derive(Default)]
pub struct Progress(usize);

impl Progress {
    pub fn tell(&mut self, count: usize) {
        if count / PROGRESS_EVERY > self.0 / PROGRESS_EVERY {
            self.0 = count;
            say(&json!({"progress": count}));
        }
    }
}
