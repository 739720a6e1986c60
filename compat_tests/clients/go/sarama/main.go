// The program of Sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"

	. "kawal/clients/contract"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var acks = map[string]sarama.RequiredAcks{
	"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
}

func main() {
	Serve(map[string]Operation{
		"version":                Version("github.com/IBM/sarama"),
		"create_topic":           administer(createTopic),
		"delete_topic":           administer(deleteTopic),
		"describe_config":        administer(describeConfig),
		"alter_config":           administer(alterConfig),
		"delete_records":         administer(deleteRecords),
		"list_offsets":           listOffsets,
		"produce":                produce,
		"produce_numbers":        produceNumbers,
		"consume":                consume,
		"consume_from_timestamp": consumeFromTimestamp,
		"consume_group":          consumeGroup,
		"transact":               transact,
		"fence":                  fence,
		"outlive":                outlive,
		"copy":                   copyRecords,
	})
}

func settings(request Request) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Return.Errors = true
	config.Consumer.Retry.Backoff = 200 * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	secure(config, request)
	return config
}

func administer(operation func(sarama.ClusterAdmin, Request) (Answer, error)) Operation {
	return func(_ context.Context, request Request) (Answer, error) {
		admin, err := sarama.NewClusterAdmin([]string{request.Bootstrap}, settings(request))
		if err != nil {
			return nil, err
		}
		answer, err := operation(admin, request)
		return answer, errors.Join(err, admin.Close())
	}
}

func createTopic(admin sarama.ClusterAdmin, request Request) (Answer, error) {
	detail := sarama.TopicDetail{
		NumPartitions: request.Partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{},
	}
	for name, value := range request.Configs {
		detail.ConfigEntries[name] = &value
	}
	return nil, admin.CreateTopic(request.Topic, &detail, false)
}

func deleteTopic(admin sarama.ClusterAdmin, request Request) (Answer, error) {
	return nil, admin.DeleteTopic(request.Topic)
}

func describeConfig(admin sarama.ClusterAdmin, request Request) (Answer, error) {
	entries, err := admin.DescribeConfig(sarama.ConfigResource{
		Type: sarama.TopicResource, Name: request.Topic, ConfigNames: []string{request.Name},
	})
	if err != nil {
		return nil, err
	}
	return Answer{"value": entries[0].Value}, nil
}

func alterConfig(admin sarama.ClusterAdmin, request Request) (Answer, error) {
	change := sarama.IncrementalAlterConfigsEntry{
		Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &request.Value,
	}
	changes := map[string]sarama.IncrementalAlterConfigsEntry{request.Name: change}
	return nil, admin.IncrementalAlterConfig(sarama.TopicResource, request.Topic, changes, false)
}

func deleteRecords(admin sarama.ClusterAdmin, request Request) (Answer, error) {
	return nil, admin.DeleteRecords(request.Topic, map[int32]int64{request.Partition: request.Before})
}

func listOffsets(_ context.Context, request Request) (Answer, error) {
	client, err := sarama.NewClient([]string{request.Bootstrap}, settings(request))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	earliest, err := client.GetOffset(request.Topic, request.Partition, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	latest, err := client.GetOffset(request.Topic, request.Partition, sarama.OffsetNewest)
	return Answer{"earliest": earliest, "latest": latest}, err
}

func producing(request Request) *sarama.Config {
	config := settings(request)
	config.Producer.RequiredAcks = sarama.WaitForAll
	if request.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	return config
}

func produce(_ context.Context, request Request) (Answer, error) {
	config := producing(request)
	config.Producer.Compression = codecs[request.Codec]
	config.Producer.RequiredAcks = acks[request.Acks]
	producer, err := sarama.NewSyncProducer([]string{request.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	messages := make([]*sarama.ProducerMessage, len(request.Records))
	for i, one := range request.Records {
		messages[i] = &sarama.ProducerMessage{
			Topic:     request.Topic,
			Partition: request.Partition,
			Key:       encoder(one.Key),
			Value:     encoder(one.Value),
			Timestamp: time.UnixMilli(one.Timestamp),
		}
		for _, header := range one.Headers {
			messages[i].Headers = append(
				messages[i].Headers, sarama.RecordHeader{Key: Bytes(header[0]), Value: Bytes(header[1])},
			)
		}
	}
	if err := errors.Join(producer.SendMessages(messages), producer.Close()); err != nil {
		return nil, err
	}
	if request.Acks == "0" {
		return Answer{"offsets": nil}, nil
	}
	offsets := make([]int64, len(messages))
	for i, one := range messages {
		offsets[i] = one.Offset
	}
	return Answer{"offsets": offsets}, nil
}

// encoder leaves null to Sarama's own nil: an empty encoder would be an empty text.
func encoder(text *string) sarama.Encoder {
	if text == nil {
		return nil
	}
	return sarama.StringEncoder(*text)
}

func produceNumbers(_ context.Context, request Request) (Answer, error) {
	config := producing(request)
	config.Producer.Retry.Max = int(Patience / config.Producer.Retry.Backoff)
	config.Metadata.Retry.Max = config.Producer.Retry.Max
	producer, err := sarama.NewAsyncProducer([]string{request.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	answers := make(chan Answer)
	room := make(chan struct{}, UnansweredMax)
	go func() { answers <- collect(producer, *request.Count, room) }()
	for number := range *request.Count {
		room <- struct{}{}
		producer.Input() <- &sarama.ProducerMessage{
			Topic: request.Topic, Value: sarama.StringEncoder(strconv.Itoa(number)), Metadata: number,
		}
		if number%NumbersAtATime == 0 {
			time.Sleep(Pause)
		}
	}
	answer := <-answers
	return answer, producer.Close()
}

// collect takes as many answers as numbers are sent.
func collect(producer sarama.AsyncProducer, count int, room <-chan struct{}) Answer {
	var firstError error
	acked, failed := []int{}, 0
	progress := Progress{}
	for len(acked)+failed < count {
		select {
		case message := <-producer.Successes():
			acked = append(acked, message.Metadata.(int))
			progress.Tell(len(acked))
		case failure := <-producer.Errors():
			failed, firstError = failed+1, errors.Join(firstError, failure.Err)
		}
		<-room
	}
	return Answer{"acked": acked, "failed": failed, "first_error": fmt.Sprint(firstError)}
}

func consume(_ context.Context, request Request) (Answer, error) {
	client, err := sarama.NewClient([]string{request.Bootstrap}, settings(request))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return consumeFrom(client, request)
}

func consumeFromTimestamp(_ context.Context, request Request) (Answer, error) {
	client, err := sarama.NewClient([]string{request.Bootstrap}, settings(request))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	request.Offset, err = client.GetOffset(request.Topic, request.Partition, request.Timestamp)
	if err != nil || request.Offset < 0 {
		return Answer{"records": []Record{}}, err
	}
	return consumeFrom(client, request)
}

func consumeFrom(client sarama.Client, request Request) (Answer, error) {
	end, err := client.GetOffset(request.Topic, request.Partition, sarama.OffsetNewest)
	if err != nil {
		return nil, err
	}
	records := Read()
	if request.Count == nil && request.Offset >= end {
		return Answer{"records": records.All}, nil
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	reading, err := consumer.ConsumePartition(request.Topic, request.Partition, request.Offset)
	if err != nil {
		return nil, err
	}
	defer reading.AsyncClose()
	var last error
	deadline := time.After(Patience)
	for !request.Done(records, end) {
		var silence <-chan time.Time
		if request.Count == nil {
			silence = time.After(Silence)
		}
		select {
		case message := <-reading.Messages():
			records.Add(shown(message))
		case last = <-reading.Errors():
		case <-silence:
			return Answer{"records": records.All}, nil
		case <-deadline:
			return nil, fmt.Errorf("%d records after %v; last error %v", len(records.All), Patience, last)
		}
	}
	return Answer{"records": records.All}, nil
}

func shown(message *sarama.ConsumerMessage) Record {
	headers := [][]*string{}
	for _, one := range message.Headers {
		headers = append(headers, []*string{Text(one.Key), Text(one.Value)})
	}
	return Record{
		Partition: message.Partition,
		Offset:    message.Offset,
		Key:       Text(message.Key),
		Value:     Text(message.Value),
		Headers:   headers,
		Timestamp: message.Timestamp.UnixMilli(),
	}
}
