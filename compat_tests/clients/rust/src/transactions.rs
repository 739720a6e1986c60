//! The operations of the transactional producer.

use crate::contract::{connected, Outcome, Request, PATIENCE, WITHIN};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::Message;
use serde_json::json;
use std::time::{Duration, Instant};

fn instance(request: &Request, timeout_ms: i64) -> Result<BaseProducer, KafkaError> {
    // A delivery may not be waited for longer than the transaction lasts.
    let timeout = timeout_ms.to_string();
    let producer: BaseProducer = connected(request)
        .set("transactional.id", request.text("transactional_id"))
        .set("transaction.timeout.ms", &timeout)
        .set("message.timeout.ms", &timeout)
        .create()?;
    producer.init_transactions(WITHIN)?;
    Ok(producer)
}

fn begin_and_send(producer: &BaseProducer, topic: &str, value: &str) -> Result<(), KafkaError> {
    producer.begin_transaction()?;
    send(producer, topic, value)?;
    producer.flush(WITHIN)
}

fn send(producer: &BaseProducer, topic: &str, value: &str) -> Result<(), KafkaError> {
    let record = BaseRecord::<(), str>::to(topic).partition(0).payload(value);
    producer.send(record).map_err(|(error, _)| error)
}

const MINUTE_MS: i64 = 60_000;

pub fn transact(request: &Request) -> Outcome {
    let producer = instance(request, MINUTE_MS)?;
    for number in 0..request.count().unwrap_or_default() {
        begin_and_send(&producer, request.text("topic"), &number.to_string())?;
        if number % 3 == 2 {
            producer.abort_transaction(WITHIN)?;
        } else {
            producer.commit_transaction(WITHIN)?;
        }
    }
    Ok(json!({}))
}

pub fn fence(request: &Request) -> Outcome {
    let old = instance(request, MINUTE_MS)?;
    begin_and_send(&old, request.text("topic"), "old")?;
    let young = instance(request, MINUTE_MS)?;
    begin_and_send(&young, request.text("topic"), "young")?;
    young.commit_transaction(WITHIN)?;
    Ok(json!({"refused": old.commit_transaction(WITHIN).is_err()}))
}

pub fn outlive(request: &Request) -> Outcome {
    let producer = instance(request, request.number("timeout"))?;
    begin_and_send(&producer, request.text("topic"), "late")?;
    std::thread::sleep(Duration::from_millis(request.number("wait") as u64));
    Ok(json!({"refused": producer.commit_transaction(WITHIN).is_err()}))
}

/// Copies each record in a transaction of its own.
pub fn copy(request: &Request) -> Outcome {
    let producer = instance(request, MINUTE_MS)?;
    let reader: BaseConsumer = connected(request)
        .set("group.id", request.text("group"))
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "earliest")
        .set("isolation.level", "read_committed")
        .create()?;
    reader.subscribe(&[request.text("topic")])?;
    let (mut copied, deadline) = (0, Instant::now() + PATIENCE);
    while copied < request.count().unwrap_or_default() {
        if Instant::now() > deadline {
            return Err(format!("{copied} records in {PATIENCE:?}").into());
        }
        let Some(message) = reader.poll(Duration::from_millis(200)) else { continue };
        let value = message?.payload_view::<str>().ok_or("no value")??.to_owned() + "!";
        producer.begin_transaction()?;
        send(&producer, request.text("target"), &value)?;
        let metadata = reader.group_metadata().ok_or("not in a group")?;
        producer.send_offsets_to_transaction(&reader.position()?, &metadata, WITHIN)?;
        producer.commit_transaction(WITHIN)?;
        copied += 1;
    }
    Ok(json!({"copied": copied}))
}
