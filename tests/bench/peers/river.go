// SPDX-License-Identifier: MIT
// River on PostgreSQL (PGHOST, PGUSER, PGDATABASE):
//
//	river drain best N      N jobs there already; the settings of River's own benchmark
//	river drain default N   the settings of its first example: 100 workers, else as it comes
//	river enqueue N         InsertManyFast (COPY), 5000 a call
//	river notify N          on an idle queue, from Insert to Work: the median in milliseconds, as "rate"
//	river fill N            N jobs for a group
//	river work best         one of a group (bench_group.hpp), as drain best
//	river produce N         one that enqueues jobs of N bytes, as enqueue
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

func (mail) Kind() string { return "mail" }

type worker struct {
	river.WorkerDefaults[mail]
	started chan time.Time
}

func (w *worker) Work(context.Context, *river.Job[mail]) error {
	if w.started != nil {
		w.started <- time.Now()
	}
	return nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var (
	ctx     = context.Background()
	message = mail{"user@example.com", "welcome", strings.Repeat("x", 60)}
)

func enqueue(client *river.Client[pgx.Tx], jobs int) {
	for left := jobs; left > 0; left -= 5000 {
		params := make([]river.InsertManyParams, min(left, 5000))
		for i := range params {
			params[i].Args = message
		}
		must(client.InsertManyFast(ctx, params))
	}
}

func fill(client *river.Client[pgx.Tx], pool *pgxpool.Pool, jobs int) {
	enqueue(client, jobs)
	must(pool.Exec(ctx, "VACUUM (ANALYZE) river_job"))
	must(pool.Exec(ctx, "CHECKPOINT"))
}

func workInGroup(client *river.Client[pgx.Tx]) {
	completed, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 100_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	input := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	input.Scan()
	must(0, client.Start(ctx))
	over := make(chan bool)
	go func() {
		for input.Scan() {
		}
		must(0, client.Stop(ctx))
		over <- true
	}()
	done, said := 0, 0
	for tick := time.Tick(10 * time.Millisecond); ; {
		select {
		case <-completed:
			done++
		case <-tick:
			if done != said {
				said = done
				fmt.Println(said)
			}
		case <-over:
			return
		}
	}
}

func produceInGroup(client *river.Client[pgx.Tx], bytes int) {
	const lot = 5000
	message.Body = strings.Repeat("x", bytes-60)
	var allowed atomic.Int64
	var over atomic.Bool
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			allowed.Store(int64(must(strconv.Atoi(input.Text()))))
		}
		over.Store(true)
	}()
	fmt.Println("ready")
	for made := 0; !over.Load(); {
		if int64(made+lot) > allowed.Load() {
			time.Sleep(time.Millisecond)
			continue
		}
		enqueue(client, lot)
		made += lot
		fmt.Println(made)
	}
}

func drain(client *river.Client[pgx.Tx], pool *pgxpool.Pool, jobs int) time.Duration {
	fill(client, pool, jobs)
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

func notify(client *river.Client[pgx.Tx], started chan time.Time, jobs int) float64 {
	must(0, client.Start(ctx))
	time.Sleep(time.Second)
	waits := make([]float64, jobs)
	for i := range waits {
		time.Sleep(20 * time.Millisecond) // until the queue is idle again
		start := time.Now()
		must(client.Insert(ctx, message, nil))
		waits[i] = float64((<-started).Sub(start).Microseconds()) / 1000
	}
	sort.Float64s(waits)
	return waits[jobs/2]
}

func main() {
	what, jobs := os.Args[1], 0
	if what != "work" {
		jobs = must(strconv.Atoi(os.Args[len(os.Args)-1]))
	}
	pool := must(pgxpool.New(ctx, ""))
	driver := riverpgxv5.New(pool)
	must(must(rivermigrate.New(driver, nil)).Migrate(ctx, rivermigrate.DirectionUp, nil))

	work := &worker{}
	workers := river.NewWorkers()
	river.AddWorker(workers, work)
	config := &river.Config{
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers: workers,
	}
	if os.Args[2] == "best" {
		config.FetchCooldown, config.FetchPollInterval = 2*time.Millisecond, 20*time.Millisecond
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: 2000}
	}
	if what == "notify" {
		work.started = make(chan time.Time, 1)
		config.FetchCooldown = river.FetchCooldownMin
	}
	client := must(river.NewClient(driver, config))

	var seconds, rate float64
	switch what {
	case "fill":
		fill(client, pool, jobs)
		return
	case "work":
		workInGroup(client)
		return
	case "produce":
		produceInGroup(client, jobs)
		return
	case "drain":
		seconds = drain(client, pool, jobs).Seconds()
	case "enqueue":
		start := time.Now()
		enqueue(client, jobs)
		seconds = time.Since(start).Seconds()
	case "notify":
		rate = notify(client, work.started, jobs)
	default:
		panic("no " + what)
	}
	if rate == 0 {
		rate = float64(jobs) / seconds
	}
	fmt.Println(string(must(json.Marshal(map[string]any{"items": jobs, "seconds": seconds, "rate": rate}))))
}
