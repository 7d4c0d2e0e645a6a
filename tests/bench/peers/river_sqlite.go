// SPDX-License-Identifier: MIT
// River on SQLite (WAL, synchronous NORMAL), in the new file FILE:
//
//	river_sqlite drain FILE N     N jobs there already; the settings of River's own benchmark
//	river_sqlite enqueue FILE N   InsertManyFast, a thousand a call
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

type mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

func (mail) Kind() string { return "mail" }

type worker struct{ river.WorkerDefaults[mail] }

func (*worker) Work(context.Context, *river.Job[mail]) error { return nil }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var ctx = context.Background()

func enqueue(client *river.Client[*sql.Tx], jobs int) {
	message := mail{"user@example.com", "welcome", strings.Repeat("x", 60)}
	for left := jobs; left > 0; left -= 1000 {
		params := make([]river.InsertManyParams, min(left, 1000))
		for i := range params {
			params[i].Args = message
		}
		must(client.InsertManyFast(ctx, params))
	}
}

func drain(client *river.Client[*sql.Tx], jobs int) time.Duration {
	enqueue(client, jobs)
	// An event comes when the completion is written.
	completed, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: jobs, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	start := time.Now()
	must(0, client.Start(ctx))
	for range jobs {
		<-completed
	}
	return time.Since(start)
}

func main() {
	what, file, jobs := os.Args[1], os.Args[2], must(strconv.Atoi(os.Args[3]))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(file + suffix)
	}
	pool := must(sql.Open("sqlite", file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"))
	pool.SetMaxOpenConns(1) // as its documentation says
	driver := riversqlite.New(pool)
	must(must(rivermigrate.New(driver, nil)).Migrate(ctx, rivermigrate.DirectionUp, nil))

	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	client := must(river.NewClient(driver, &river.Config{
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}},
		Workers:           workers,
	}))

	var seconds float64
	switch what {
	case "drain":
		seconds = drain(client, jobs).Seconds()
	case "enqueue":
		start := time.Now()
		enqueue(client, jobs)
		seconds = time.Since(start).Seconds()
	default:
		panic("no " + what)
	}
	fmt.Println(string(must(json.Marshal(map[string]any{
		"items": jobs, "seconds": seconds, "rate": float64(jobs) / seconds}))))
}
