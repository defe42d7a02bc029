// Lists that many units have in common.

#ifndef ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H
#define ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace etc::rounds {

/// A list whose copies share their elements until one of them is changed.
template <typename T> class SharedList {
public:
  SharedList() = default;
  SharedList(const std::vector<T> &list)
      : elements(copy(list.data(), list.size(), list.size())),
        count(list.size()) {}
  SharedList(std::initializer_list<T> list)
      : elements(copy(list.begin(), list.size(), list.size())),
        count(list.size()) {}

  const T *begin() const { return elements.get(); }
  const T *end() const { return begin() + size(); }
  size_t size() const { return count; }
  bool empty() const { return size() == 0; }
  const T &operator[](size_t index) const { return begin()[index]; }

  T *begin() { return change(); }
  T *end() { return begin() + size(); }
  T &operator[](size_t index) { return change()[index]; }
  /// Copies all elements: lists are short where they are made so.
  void push_back(T element) {
    elements = copy(elements.get(), count, count + 1);
    elements[std::ptrdiff_t(count++)] = std::move(element);
  }

  bool operator==(const SharedList &other) const {
    return elements == other.elements ||
           std::equal(begin(), end(), other.begin(), other.end());
  }

private:
  using Elements = std::shared_ptr<T[]>;

  /// The first `count` elements of a list that gets `size`.
  static Elements copy(const T *first, size_t count, size_t size) {
    Elements list = size == 0 ? nullptr : std::make_shared<T[]>(size);
    std::copy_n(first, count, list.get());
    return list;
  }
  /// Those of this list alone.
  T *change() {
    if (elements.use_count() > 1)
      elements = copy(elements.get(), count, count);
    return elements.get();
  }

  Elements elements; ///< null where there are none
  size_t count = 0;
};

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H
