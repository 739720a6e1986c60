//! The operations of the admin client.

use crate::contract::{bearer, connected, Bearer, Outcome, Request, WITHIN};
use futures_executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::json;
use std::ffi::CString;

type Admin = AdminClient<Bearer>;

fn admin(request: &Request) -> Result<(Admin, AdminOptions), rdkafka::error::KafkaError> {
    let client: Admin = connected(request).create_with_context(bearer(request))?;
    show_token(&client, request);
    Ok((client, AdminOptions::new().operation_timeout(Some(WITHIN)).request_timeout(Some(WITHIN))))
}

/// Gives the client its signed token: rdkafka's admin client never polls the queue on which it is asked for.
fn show_token(client: &Admin, request: &Request) {
    let Some(signed) = request.field("security")["bearer"].as_str() else { return };
    let given = bearer(request).token().expect("the clock runs");
    let (token, principal) = (CString::new(signed), CString::new(given.principal_name));
    let (token, principal) = (token.expect("no zero byte"), principal.expect("no zero byte"));
    let mut problem = [0; 256];
    // Safety: the pointers are of values that live until the call returns, and librdkafka copies them.
    unsafe {
        rdkafka::bindings::rd_kafka_oauthbearer_set_token(
            client.inner().native_ptr(),
            token.as_ptr(),
            given.lifetime_ms,
            principal.as_ptr(),
            std::ptr::null_mut(),
            0,
            problem.as_mut_ptr(),
            problem.len(),
        );
    }
}

pub fn create_topic(request: &Request) -> Outcome {
    let (client, options) = admin(request)?;
    let partitions = request.number("partitions") as i32;
    let mut topic = NewTopic::new(request.text("topic"), partitions, TopicReplication::Fixed(1));
    for (name, value) in request.field("configs").as_object().into_iter().flatten() {
        topic = topic.set(name, value.as_str().unwrap_or_default());
    }
    for answer in block_on(client.create_topics([&topic], &options))? {
        answer.map_err(|(topic, code)| format!("{topic}: {code}"))?;
    }
    Ok(json!({}))
}

pub fn delete_topic(request: &Request) -> Outcome {
    let (client, options) = admin(request)?;
    for answer in block_on(client.delete_topics(&[request.text("topic")], &options))? {
        answer.map_err(|(topic, code)| format!("{topic}: {code}"))?;
    }
    Ok(json!({}))
}

pub fn describe_config(request: &Request) -> Outcome {
    let (client, options) = admin(request)?;
    let asked = ResourceSpecifier::Topic(request.text("topic"));
    for answer in block_on(client.describe_configs([&asked], &options))? {
        let described = answer?;
        let entry = described.get(request.text("name")).ok_or("no such config")?;
        return Ok(json!({"value": entry.value}));
    }
    Err("no answer".into())
}

pub fn alter_config(request: &Request) -> Outcome {
    let (client, options) = admin(request)?;
    let asked = ResourceSpecifier::Topic(request.text("topic"));
    let change = AlterConfig::new(asked).set(request.text("name"), request.text("value"));
    for answer in block_on(client.alter_configs([&change], &options))? {
        answer.map_err(|(resource, code)| format!("{resource:?}: {code}"))?;
    }
    Ok(json!({}))
}

pub fn delete_records(request: &Request) -> Outcome {
    let (client, options) = admin(request)?;
    let mut before = TopicPartitionList::new();
    let offset = Offset::Offset(request.number("before"));
    before.add_partition_offset(request.text("topic"), request.number("partition") as i32, offset)?;
    for answer in block_on(client.delete_records(&before, &options))?.elements() {
        answer.error()?;
    }
    Ok(json!({}))
}
