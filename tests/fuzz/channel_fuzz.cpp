// SPDX-License-Identifier: MIT
// Any sequence of operations on a Channel, by one thread, beside a deque that does the same.
#include "fuzz/fuzzing.hpp"
#include <fila/channel/channel.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

using namespace fila_fuzz;

namespace {

/// Move-only, so that an item which is handed out twice or not at all shows.
using Item = std::unique_ptr<int>;

class Bench {
public:
    explicit Bench(std::size_t capacity) : channel_{capacity} { stopped_.request_stop(); }

    void step(Input& input) {
        switch (input.ConsumeIntegralInRange(0, 11)) {
            case 0:
                return put([this](Item& item) { return channel_.try_push(std::move(item)); });
            case 1:  // a stop that came already: no waiting
                return put(
                    [this](Item& item) { return channel_.push(std::move(item), stopped_.get_token()); });
            case 2:
                if (!full() || closed_) put([this](Item& item) { return channel_.push(std::move(item)); });
                return;
            case 3:
                return got(channel_.try_pop());
            case 4:
                return got(channel_.pop(stopped_.get_token()));
            case 5:
                if (ready()) got(channel_.pop());
                return;
            case 6:
                return batch(input, [this](auto& out, auto max) { return channel_.try_pop_batch(out, max); });
            case 7:
                return batch(input, [this](auto& out, auto max) {
                    return channel_.pop_batch(out, max, stopped_.get_token());
                });
            case 8:
                if (ready())
                    batch(input, [this](auto& out, auto max) { return channel_.pop_batch(out, max); });
                return;
            case 9:
                channel_.close();
                closed_ = true;
                calls_ += subscriptions_.size();
                return;
            case 10:
                if (input.ConsumeBool() && !subscriptions_.empty())
                    subscriptions_.pop_back();
                else if (subscriptions_.size() < 4)
                    subscriptions_.push_back(
                        std::make_unique<Subscription>(channel_.on_push([this, throws = input.ConsumeBool()] {
                            ++heard_;
                            if (throws && heard_ % 8 == 0) throw 42;  // swallowed: not the producer's fault
                        })));
                return;
            default:
                if (closed_) everything();
        }
    }
    void check() const {
        expect(channel_.size() == model_.size(), "as many items as were put in and not taken out");
        expect(channel_.closed() == closed_, "closed for ever");
        expect(heard_ == calls_,
               "one call for each item that came after none and each close, to each who listens");
    }
    /// What was accepted is handed out, also after the close.
    void everything() {
        channel_.close();
        closed_ = true;
        calls_ += subscriptions_.size();
        for (Item& item : channel_) got(std::optional{std::move(item)});
        expect(model_.empty(), "the range ends when nothing is left");
        check();
    }

private:
    using Subscription = decltype(std::declval<fila::Channel<Item>&>().on_push({}));

    [[nodiscard]] bool full() const { return model_.size() == channel_.capacity(); }
    [[nodiscard]] bool ready() const { return closed_ || !model_.empty(); }

    template <class Push>
    void put(Push push) {
        Item item = std::make_unique<int>(next_);
        bool const accepts = !closed_ && !full();
        expect(push(item) == accepts, "an item goes in if there is room and the channel is open");
        expect((item == nullptr) == accepts, "a value that is refused is untouched");
        if (!accepts) return;
        if (model_.empty()) calls_ += subscriptions_.size();
        model_.push_back(next_++);
    }
    void got(std::optional<Item> item) {
        expect(item.has_value() == !model_.empty(), "an item, if there is one");
        if (!item) return;
        expect(*item != nullptr && **item == model_.front(), "items come out in order, each once");
        model_.pop_front();
    }
    template <class Pop>
    void batch(Input& input, Pop pop) {
        auto const max = input.ConsumeIntegralInRange<std::size_t>(0, 20);
        std::vector<Item> out;
        auto const n = pop(out, max);
        expect(n == out.size() && n == std::min(max, model_.size()), "as many as there are, up to the limit");
        for (auto& item : out) got(std::optional{std::move(item)});
    }

    fila::Channel<Item> channel_;
    std::stop_source stopped_;
    std::deque<int> model_;
    bool closed_ = false;
    int next_ = 0;
    std::size_t calls_ = 0, heard_ = 0;
    std::vector<std::unique_ptr<Subscription>> subscriptions_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input input{data, size};
    Bench bench{input.ConsumeIntegralInRange<std::size_t>(1, 9)};
    while (input.remaining_bytes() > 0) {
        bench.step(input);
        bench.check();
    }
    bench.everything();
    return 0;
}
