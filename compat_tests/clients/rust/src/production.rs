//! The operations of the producer.

use crate::contract::{
    bearer, connected, Bearer, Outcome, Progress, Request, NUMBERS_AT_A_TIME, PATIENCE, PAUSE, UNANSWERED_MAX, WITHIN,
};
use rdkafka::client::OAuthToken;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::{ClientContext, Message};
use serde_json::json;
use std::error::Error;
use std::sync::Mutex;

/// The results: the number of each record with its offset, and the errors.
#[derive(Default)]
struct Delivered {
    offsets: Vec<(usize, i64)>,
    errors: Vec<String>,
    progress: Progress,
}

struct Deliveries(Mutex<Delivered>, Bearer);

impl ClientContext for Deliveries {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.1.token()
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<usize>;

    fn delivery(&self, result: &DeliveryResult<'_>, number: Box<usize>) {
        let mut delivered = self.0.lock().expect("no callback panics");
        match result {
            Ok(message) => delivered.offsets.push((*number, message.offset())),
            Err((error, _)) => delivered.errors.push(error.to_string()),
        }
        let count = delivered.offsets.len();
        delivered.progress.tell(count);
    }
}

impl Deliveries {
    fn answered(&self) -> usize {
        let delivered = self.0.lock().expect("no callback panics");
        delivered.offsets.len() + delivered.errors.len()
    }
}

fn producer(request: &Request, settings: &[(&str, &str)]) -> Result<BaseProducer<Deliveries>, KafkaError> {
    let mut config = connected(request);
    config.set("enable.idempotence", if request.flag("idempotent") { "true" } else { "false" });
    for (name, value) in settings {
        config.set(*name, *value);
    }
    config.create_with_context(Deliveries(Mutex::default(), bearer(request)))
}

pub fn produce(request: &Request) -> Outcome {
    let (codec, acks) = (request.text("codec"), request.text("acks"));
    let producer = producer(request, &[("compression.codec", codec), ("acks", acks), ("linger.ms", "20")])?;
    for (number, fields) in request.field("records").as_array().into_iter().flatten().enumerate() {
        let mut headers = OwnedHeaders::new();
        for pair in fields["headers"].as_array().into_iter().flatten() {
            headers = headers.insert(Header { key: pair[0].as_str().unwrap_or_default(), value: pair[1].as_str() });
        }
        let mut record = BaseRecord::with_opaque_to(request.text("topic"), Box::new(number))
            .partition(request.number("partition") as i32)
            .timestamp(fields["timestamp"].as_i64().unwrap_or_default())
            .headers(headers);
        record.key = fields["key"].as_str();
        record.payload = fields["value"].as_str();
        producer.send::<str, str>(record).map_err(|(error, _)| error)?;
    }
    producer.flush(WITHIN)?;
    let delivered = producer.context().0.lock().expect("no callback panics");
    if let Some(error) = delivered.errors.first() {
        return Err(error.clone().into());
    }
    let offsets: Vec<i64> = delivered.offsets.iter().map(|(_, offset)| *offset).collect();
    Ok(json!({"offsets": if acks == "0" { None } else { Some(offsets) }}))
}

pub fn produce_numbers(request: &Request) -> Outcome {
    let patience = PATIENCE.as_millis().to_string();
    let settings = [("acks", "all"), ("message.timeout.ms", &patience), ("reconnect.backoff.max.ms", "500")];
    let producer = producer(request, &settings)?;
    for number in 0..request.count().unwrap_or_default() {
        while number - producer.context().answered() >= UNANSWERED_MAX {
            producer.poll(PAUSE);
        }
        let value = number.to_string();
        let record = BaseRecord::with_opaque_to(request.text("topic"), Box::new(number)).partition(0).payload(&value);
        producer.send::<(), String>(record).map_err(|(error, _)| error)?;
        if number % NUMBERS_AT_A_TIME == 0 {
            std::thread::sleep(PAUSE);
            producer.poll(std::time::Duration::ZERO);
        }
    }
    producer.flush(PATIENCE)?;
    let delivered = producer.context().0.lock().expect("no callback panics");
    let acked: Vec<usize> = delivered.offsets.iter().map(|(number, _)| *number).collect();
    Ok(json!({"acked": acked, "failed": delivered.errors.len(), "first_error": delivered.errors.first()}))
}
