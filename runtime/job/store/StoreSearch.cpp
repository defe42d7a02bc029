#include "job/store/StoreSearch.h"

#include <algorithm>

using namespace etc::runtime;

/// Before the same process is asked again.
constexpr Milliseconds kPause{50};
/// Who is sent on more often runs in a circle.
constexpr unsigned kMostHops = 64;

std::optional<StoreSearch::Found> StoreSearch::step(Milliseconds time) {
  if (who.empty())
    return Found{};
  waited += time;
  pause -= std::min(pause, time);
  if (pause.count() > 0)
    return std::nullopt;
  if (!link) {
    link = std::make_unique<StoreLink>(who.front().address, secret);
    link->send(hello);
  }
  link->receive(time);
  if (std::optional<StoreMessage> message = link->next();
      message && message->kind == StoreKind::Members)
    return hear(std::move(*message));
  if (link->state() == StoreLink::State::Refused) {
    dead_.insert(who.front().number);
    next();
  } else if (waited > patience) {
    isAnySilent = true;
    next();
  } else if (link->isOver()) {
    askAgain();
  }
  return std::nullopt;
}

void StoreSearch::next() {
  gone.insert(who.front().number);
  who.pop_front();
  link.reset();
  waited = pause = {};
}

void StoreSearch::askAgain() {
  link.reset();
  pause = kPause;
}

std::optional<StoreSearch::Found> StoreSearch::hear(StoreMessage message) {
  if (message.number != 0)
    return Found{std::move(link), std::move(message)};
  if (message.members.hub == hello.number && hello.number != 0)
    return Found{};
  const JobProcess *hub = message.members.findHub();
  const bool isNews = hub && ++hops < kMostHops &&
                      !gone.contains(hub->number) &&
                      hub->number != who.front().number;
  if (!isNews) {
    // It has not noticed yet that its hub is gone, or looks for one itself.
    askAgain();
    return std::nullopt;
  }
  who.push_front(*hub);
  link.reset();
  waited = {};
  return std::nullopt;
}

pollfd StoreSearch::entry() const {
  return link ? link->entry() : pollfd{-1, 0, 0};
}
