import BatonModel

/// Makes a failing schedule smaller, by leaving out faults and requests that the failure does not need.
package struct Shrinking {
  private let simulator: Simulator
  private let breakage: Breakage?
  private let rule: Violation.Rule
  /// The number of simulations that it may still run.
  private var budget: Int

  /// - Parameters:
  ///   - rule: the rule that every smaller schedule has to break.
  ///   - breakage: the planted bug with which the schedule failed; `nil` for none.
  ///   - budget: the largest number of simulations that it may run.
  package init(_ simulator: Simulator, rule: Violation.Rule, breakage: Breakage? = nil, budget: Int = 300) {
    self.simulator = simulator
    self.rule = rule
    self.breakage = breakage
    self.budget = budget
  }

  /// Returns the smallest schedule that it found and that breaks the same rule. Returns `schedule` itself if it found
  /// no smaller schedule.
  package mutating func shrink(_ schedule: Schedule) -> Schedule {
    var smallest = schedule
    var last = -1
    while last != smallest.size, budget > 0 {
      last = smallest.size
      smallest = without(\.faults, smallest)
      smallest = without(\.requests, smallest)
    }
    return smallest
  }

  /// Leaves out halves of the list, then quarters, and so on, down to single elements.
  private mutating func without<Element>(
    _ part: WritableKeyPath<Schedule, [Element]>, _ schedule: Schedule
  ) -> Schedule {
    var smallest = schedule
    var length = max(1, smallest[keyPath: part].count / 2)
    while true {
      var start = 0
      while start < smallest[keyPath: part].count {
        var candidate = smallest
        let end = min(start + length, candidate[keyPath: part].count)
        candidate[keyPath: part].removeSubrange(start..<end)
        if fails(candidate) { smallest = candidate } else { start += length }
      }
      if length == 1 { return smallest }
      length = max(1, length / 2)
    }
  }

  private mutating func fails(_ schedule: Schedule) -> Bool {
    guard budget > 0 else { return false }
    budget -= 1
    return simulator.run(schedule, breakage: breakage).violation?.rule == rule
  }
}

extension Schedule {
  fileprivate var size: Int { faults.count + requests.count }
}

extension Schedule: CustomStringConvertible {
  /// The parts of the schedule that a person looks at after shrinking.
  package var description: String {
    let hosts = hosts.map {
      "  \($0.name): \($0.capabilities.slots) slots, \($0.conditions.gpus.value?.count ?? 0) GPUs"
    }
    let requests = requests.map { request in
      "  \(request.at.inSeconds) s: \(request.identifier), \(batches[request.identifier, default: 1]) batches"
        + (request.poke == nil ? "" : ", a poke") + (request.earliest.map { ", \($0)" } ?? "")
    }
    let faults = faults.map { "  \($0.at.inSeconds) s: \($0.kind)" }
    return
      (["seed \(seed), lease \(leaseTerm.inSeconds) s, calm from \(calmAt.inSeconds) s"] + hosts + ["requests:"]
      + requests + ["faults:"] + faults).joined(separator: "\n")
  }
}
