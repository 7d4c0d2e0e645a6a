// SPDX-License-Identifier: MIT
// What bench_in_process does, with Go's channels:  channels WORKERS WORK_NS CAPACITY ITEMS [LOT]
//
// Items go to the workers through one channel, a result or an error for each comes back through another, and both are
// counted. With LOT, an item of the channels is a slice of so many.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

type item struct {
	number uint64
	handle *int
}
type result struct {
	number uint64
	err    error
}

var sink uint64

func spin(x uint64, turns int) uint64 {
	x |= 1
	for i := 0; i < turns; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

func turnsPerNs() float64 {
	best := 0.0
	for k := 0; k < 5; k++ {
		start := time.Now()
		sink ^= spin(uint64(k+1), 3000000)
		if r := 3e6 / float64(time.Since(start).Nanoseconds()); r > best {
			best = r
		}
	}
	return best
}

//go:noinline
func handle(it item, turns int) (uint64, error) {
	if turns == 0 {
		return it.number, nil
	}
	return spin(it.number, turns), nil
}

func main() {
	number := func(i int) int {
		n, err := strconv.Atoi(os.Args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	workers, workNs, capacity, items, lot := number(1), number(2), number(3), number(4), 1
	if len(os.Args) > 5 {
		lot = number(5)
	}
	turns := 0
	if workNs > 0 {
		turns = int(float64(workNs) * turnsPerNs())
	}
	start := time.Now()
	done, failed := 0, 0
	if lot == 1 {
		source, results := make(chan item, capacity), make(chan result, capacity)
		var pool sync.WaitGroup
		for w := 0; w < workers; w++ {
			pool.Add(1)
			go func() {
				defer pool.Done()
				for it := range source {
					n, err := handle(it, turns)
					results <- result{n, err}
				}
			}()
		}
		go func() {
			for i := 0; i < items; i++ {
				source <- item{uint64(i), nil}
			}
			close(source)
			pool.Wait()
			close(results)
		}()
		for r := range results {
			if r.err != nil {
				failed++
			} else {
				done++
			}
		}
	} else {
		source, results := make(chan []item, capacity), make(chan []result, capacity)
		var pool sync.WaitGroup
		for w := 0; w < workers; w++ {
			pool.Add(1)
			go func() {
				defer pool.Done()
				for its := range source {
					out := make([]result, len(its))
					for i, it := range its {
						n, err := handle(it, turns)
						out[i] = result{n, err}
					}
					results <- out
				}
			}()
		}
		go func() {
			for i := 0; i < items; i += lot {
				its := make([]item, 0, lot)
				for k := i; k < i+lot && k < items; k++ {
					its = append(its, item{uint64(k), nil})
				}
				source <- its
			}
			close(source)
			pool.Wait()
			close(results)
		}()
		for rs := range results {
			for _, r := range rs {
				if r.err != nil {
					failed++
				} else {
					done++
				}
			}
		}
	}
	seconds := time.Since(start).Seconds()
	if done != items {
		panic(fmt.Sprint(done, " of ", items))
	}
	fmt.Printf("{\"items\": %d, \"seconds\": %g, \"rate\": %g}\n", items, seconds, float64(items)/seconds)
}
