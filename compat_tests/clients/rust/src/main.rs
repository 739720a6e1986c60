//! The program of rdkafka for Rust.

mod administration;
mod consumption;
mod contract;
mod production;
mod transactions;

use contract::{Outcome, Request};
use serde_json::json;

fn version(_: &Request) -> Outcome {
    let lock = include_str!("../Cargo.lock");
    let rdkafka = lock.split("name = \"rdkafka\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    let (_, librdkafka) = rdkafka::util::get_rdkafka_version();
    Ok(json!({"version": format!("{} (librdkafka {librdkafka})", rdkafka.ok_or("not in Cargo.lock")?)}))
}

fn main() {
    contract::serve(|operation| match operation {
        "version" => Some(version),
        "create_topic" => Some(administration::create_topic),
        "delete_topic" => Some(administration::delete_topic),
        "describe_config" => Some(administration::describe_config),
        "alter_config" => Some(administration::alter_config),
        "delete_records" => Some(administration::delete_records),
        "list_offsets" => Some(consumption::list_offsets),
        "produce" => Some(production::produce),
        "produce_numbers" => Some(production::produce_numbers),
        "consume" => Some(consumption::consume),
        "consume_from_timestamp" => Some(consumption::consume_from_timestamp),
        "consume_group" => Some(consumption::consume_group),
        "transact" => Some(transactions::transact),
        "fence" => Some(transactions::fence),
        "outlive" => Some(transactions::outlive),
        "copy" => Some(transactions::copy),
        _ => None,
    });
}
