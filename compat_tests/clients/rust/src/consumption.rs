//! The operations of the consumer.

use crate::contract::{bearer, connected, Bearer, Outcome, Progress, Request, PATIENCE, WITHIN};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers};
use rdkafka::{Message, Offset, TopicPartitionList};
use serde_json::{json, Value};
use std::collections::HashSet;
use std::time::{Duration, Instant};

fn consumer(request: &Request, group: &str) -> Result<BaseConsumer<Bearer>, KafkaError> {
    let reader: BaseConsumer<Bearer> = connected(request)
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("auto.offset.reset", "earliest")
        .set("reconnect.backoff.max.ms", "500")
        .create_with_context(bearer(request))?;
    // librdkafka asks for a token in a poll only; calls that wait for answers do not poll.
    if request.field("security")["bearer"].is_string() {
        let _ = reader.poll(Duration::from_millis(100));
    }
    Ok(reader)
}

fn partition(request: &Request) -> i32 {
    request.number("partition") as i32
}

pub fn list_offsets(request: &Request) -> Outcome {
    let reader = consumer(request, "never-joined")?;
    let (earliest, latest) = reader.fetch_watermarks(request.text("topic"), partition(request), WITHIN)?;
    Ok(json!({"earliest": earliest, "latest": latest}))
}

pub fn consume(request: &Request) -> Outcome {
    consume_from(request, request.number("offset"))
}

pub fn consume_from_timestamp(request: &Request) -> Outcome {
    let reader = consumer(request, "never-joined")?;
    let mut asked = TopicPartitionList::new();
    let time = Offset::Offset(request.number("timestamp"));
    asked.add_partition_offset(request.text("topic"), partition(request), time)?;
    match reader.offsets_for_times(asked, WITHIN)?.elements()[0].offset() {
        Offset::Offset(offset) => consume_from(request, offset),
        _ => Ok(json!({"records": []})),
    }
}

fn consume_from(request: &Request, offset: i64) -> Outcome {
    let reader = consumer(request, "never-joined")?;
    let (_, end) = reader.fetch_watermarks(request.text("topic"), partition(request), WITHIN)?;
    if request.count().is_none() && offset >= end {
        return Ok(json!({"records": []}));
    }
    let mut there = TopicPartitionList::new();
    there.add_partition_offset(request.text("topic"), partition(request), Offset::Offset(offset))?;
    reader.assign(&there)?;
    Ok(json!({"records": taken(&reader, request)?}))
}

pub fn consume_group(request: &Request) -> Outcome {
    let reader = consumer(request, request.text("group"))?;
    reader.subscribe(&[request.text("topic")])?;
    let records = taken(&reader, request)?;
    reader.commit_consumer_state(CommitMode::Sync)?;
    Ok(json!({"records": records}))
}

/// Reads as many records as asked for, or to the end of the partition, which librdkafka reports.
fn taken(reader: &BaseConsumer<Bearer>, request: &Request) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let mut records = Vec::new();
    let mut seen = HashSet::new();
    let mut progress = Progress::default();
    let deadline = Instant::now() + PATIENCE;
    while request.count().is_none_or(|count| records.len() < count) {
        if Instant::now() > deadline {
            return Err(format!("{} records in {PATIENCE:?}", records.len()).into());
        }
        match reader.poll(Duration::from_millis(200)) {
            None => {}
            Some(Ok(message)) => {
                if seen.insert((message.partition(), message.offset())) {
                    records.push(shown(&message)?);
                }
                progress.tell(records.len());
            }
            Some(Err(KafkaError::PartitionEOF(_))) if request.count().is_none() => break,
            // librdkafka mends broken connections itself and reports them.
            Some(Err(problem)) => eprintln!("{problem}"),
        }
    }
    Ok(records)
}

fn text(data: Option<&[u8]>) -> Result<Option<&str>, std::str::Utf8Error> {
    data.map(std::str::from_utf8).transpose()
}

fn shown(message: &BorrowedMessage<'_>) -> Result<Value, std::str::Utf8Error> {
    let mut headers = Vec::new();
    for one in message.headers().into_iter().flat_map(|all| all.iter()) {
        headers.push(json!([one.key, text(one.value)?]));
    }
    Ok(json!({
        "partition": message.partition(),
        "offset": message.offset(),
        "key": text(message.key())?,
        "value": text(message.payload())?,
        "headers": headers,
        "timestamp": message.timestamp().to_millis(),
    }))
}
