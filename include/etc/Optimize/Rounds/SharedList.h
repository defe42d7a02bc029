// Lists that many units have in common.

#ifndef ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H
#define ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace etc::rounds {

/// A list whose copies share their elements until one of them is changed.
template <typename T> class SharedList {
public:
  SharedList() = default;
  SharedList(std::vector<T> list)
      : elements(list.empty()
                     ? nullptr
                     : std::make_shared<std::vector<T>>(std::move(list))) {}
  SharedList(std::initializer_list<T> list)
      : SharedList(std::vector<T>(list)) {}

  const T *begin() const { return elements ? elements->data() : nullptr; }
  const T *end() const { return begin() + size(); }
  size_t size() const { return elements ? elements->size() : 0; }
  bool empty() const { return size() == 0; }
  const T &operator[](size_t index) const { return begin()[index]; }

  T *begin() { return elements ? change().data() : nullptr; }
  T *end() { return begin() + size(); }
  T &operator[](size_t index) { return change()[index]; }
  void push_back(T element) { change().push_back(std::move(element)); }

  bool operator==(const SharedList &other) const {
    return elements == other.elements ||
           std::equal(begin(), end(), other.begin(), other.end());
  }

private:
  /// Those of this list alone.
  std::vector<T> &change() {
    if (!elements)
      elements = std::make_shared<std::vector<T>>();
    else if (elements.use_count() > 1)
      elements = std::make_shared<std::vector<T>>(*elements);
    return *elements;
  }

  std::shared_ptr<std::vector<T>> elements; ///< null where there are none
};

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_SHAREDLIST_H
