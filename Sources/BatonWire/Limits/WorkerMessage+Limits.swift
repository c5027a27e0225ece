package import BatonModel

/// Checks a worker's messages against `WireLimits`.
extension WorkerMessage {
  /// Returns the message with its texts cut and its numbers brought into range. Throws an error that names the limit if
  /// the message breaks a limit that closes the connection.
  package func heldToLimits() throws(WireError) -> WorkerMessage {
    switch self {
    case .hello(let hello): .hello(try hello.heldToLimits())
    case .conditions(let conditions): .conditions(try conditions.heldToLimits())
    case .items(let page): .items(try page.heldToLimits())
    case .itemsWanted(let launch, let start, let count):
      .itemsWanted(launch, start: max(0, start), count: min(max(0, count), WireLimits.pageItems.most))
    case .checkpoint(let checkpoint): .checkpoint(checkpoint.heldToLimits)
    case .update(let update): .update(update.heldToLimits)
    case .output(let chunk):
      .output(OutputChunk(launch: chunk.launch, bytes: Array(chunk.bytes.suffix(WireLimits.output.most))))
    case .expiring(let launch, let reason): .expiring(launch, reason.heldToLimits)
    case .overran(let launch, let reason): .overran(launch, reason.heldToLimits)
    case .ended(let ending): .ended(ending.heldToLimits)
    case .transfers(let report): .transfers(report.heldToLimits)
    case .submission(let launch, let submission): .submission(launch, try submission.heldToLimits())
    case .heartbeat, .draining: self
    }
  }
}

extension HostName {
  /// The name in a worker's hello. Throws an error if it is not a name that a host may have.
  package func heldToLimits() throws(WireError) -> HostName {
    guard isWellFormed else { throw WireError("'\(rawValue.escapedOnOneLine)' cannot be a host's name: \(Self.rule)") }
    return self
  }
}

extension Incarnation {
  /// The incarnation in a worker's hello. Throws an error if it is empty, too long, or contains a control character.
  package func heldToLimits() throws(WireError) -> Incarnation {
    guard !rawValue.isEmpty else { throw WireError("the incarnation of a worker is empty") }
    try WireLimits.incarnation.check(name: rawValue)
    return self
  }
}

extension Hello {
  /// The hello with its numbers brought into range. Throws an error that names the limit if the worker has to be
  /// refused.
  package func heldToLimits() throws(WireError) -> Hello {
    var hello = self
    hello.host = try host.heldToLimits()
    hello.incarnation = try incarnation.heldToLimits()
    try WireLimits.version.check(name: version)
    try WireLimits.secret.check(secret?.count ?? 0)
    try WireLimits.receipts.check(receipts.count)
    for receipt in receipts {
      try WireLimits.incarnation.check(name: receipt.store)
      try WireLimits.secret.check(receipt.seal.count)
    }
    try WireLimits.hello.check(textBytes)
    try WireLimits.runningLaunches.check(running.count)
    for launch in running { try WireLimits.launchGPUs.check(launch.gpus.count) }
    try WireLimits.slots.check(capabilities.slots)
    guard capabilities.slots >= 0 else { throw WireError("a host cannot have \(capabilities.slots) slots") }
    hello.capabilities.dailyAllowance = capabilities.dailyAllowance.map { min(max($0, .zero), .seconds(86_400)) }
    if let problem = capabilities.sandbox?.problem { try WireLimits.sandboxProblem.check(name: problem) }
    hello.conditions = try conditions.heldToLimits()
    return hello
  }

  /// The size of all texts of the hello without its launches, in bytes.
  private var textBytes: Int {
    let permissions = capabilities.permissions
    let patterns =
      (capabilities.handlers + capabilities.permittedIdentifiers).map(\.rawValue)
      + ((permissions?.commands ?? []) + (permissions?.directories ?? [])).map(\.rawValue)
      + (permissions?.secrets ?? []).flatMap { [$0.files.rawValue] + $0.identifiers.map(\.rawValue) }
      + (permissions?.users ?? []) + (permissions?.principals ?? []).map(\.rawValue)
    let others = conditions.textBytes + version.utf8.count + (capabilities.sandbox?.problem.utf8.count ?? 0)
    return patterns.reduce(others + receipts.reduce(0) { $0 + $1.store.utf8.count }) { $0 + $1.utf8.count }
  }
}

extension Conditions {
  fileprivate var textBytes: Int {
    let labels = (labels.value ?? [:]).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    let gpus = (gpus.value ?? []).reduce(0) { $0 + $1.id.utf8.count + $1.name.utf8.count }
    let readings =
      power.textBytes + battery.textBytes + lowPowerMode.textBytes + thermal.textBytes + network.textBytes
      + isIdle.textBytes + self.gpus.textBytes + self.labels.textBytes
    return labels + gpus + readings
  }

  /// The conditions with their texts cut and their numbers brought into range. Throws an error if labels, GPUs or the
  /// owner's name break a limit.
  package func heldToLimits() throws(WireError) -> Conditions {
    var conditions = self
    try WireLimits.labels.check(labels.value?.count ?? 0)
    for (name, value) in labels.value ?? [:] {
      try WireLimits.labelName.check(name: name)
      try WireLimits.labelValue.check(name: value)
    }
    try WireLimits.gpus.check(gpus.value?.count ?? 0)
    conditions.gpus.value = try gpus.value.map { list throws(WireError) in
      var held: [GPU] = []
      for gpu in list { held.append(try gpu.heldToLimits()) }
      return held
    }
    switch owner {
    case .accepting, .outsideHours: break
    case .paused(let by, _): try WireLimits.owner.check(name: by)
    }
    conditions.battery.value = battery.value.map { min(max($0, 0), 100) }
    conditions.power.hold()
    conditions.battery.hold()
    conditions.lowPowerMode.hold()
    conditions.thermal.hold()
    conditions.network.hold()
    conditions.isIdle.hold()
    conditions.gpus.hold()
    conditions.labels.hold()
    return conditions
  }
}

extension GPU {
  fileprivate func heldToLimits() throws(WireError) -> GPU {
    try WireLimits.gpuText.check(id)
    try WireLimits.gpuText.check(name)
    var gpu = self
    gpu.memoryBytes = min(max(0, memoryBytes), WireLimits.largestGPU)
    return gpu
  }
}

extension Reading {
  fileprivate var textBytes: Int { source.utf8.count + raw.utf8.count }

  fileprivate mutating func hold() {
    source = source.withoutNUL.cut(toBytes: WireLimits.readingText.most)
    raw = raw.withoutNUL.cut(toBytes: WireLimits.readingText.most)
    age = age.map { min(max($0, .zero), WireLimits.longest) }
  }
}

extension ItemPage {
  fileprivate func heldToLimits() throws(WireError) -> ItemPage {
    for item in items { try WireLimits.item.check(item) }
    return self
  }
}

extension Checkpoint {
  fileprivate var heldToLimits: Checkpoint {
    var checkpoint = self
    checkpoint.subtitle = subtitle?.cutToText
    checkpoint.completedUnits = completedUnits.heldToUnits
    checkpoint.totalUnits = totalUnits?.heldToUnits
    return checkpoint
  }
}

extension LaunchSubmission {
  fileprivate func heldToLimits() throws(WireError) -> LaunchSubmission {
    try WireLimits.launchSubmission.check(name: name)
    if name.isEmpty { throw WireError("the name of a launch's submission is empty") }
    try WireLimits.launchPayload.check(payload?.count ?? 0)
    var submission = self
    switch earliestBeginDate {
    case .afterSubmission(let delay):
      submission.earliestBeginDate = .afterSubmission(min(max(delay, .zero), WireLimits.longest))
    case .at(let date):
      guard Definition.Limits.contains(date) else {
        throw WireError("the earliest date of a launch's submission is not between 1970 and 2260")
      }
    case nil: break
    }
    return submission
  }
}

extension LaunchUpdate {
  fileprivate var heldToLimits: LaunchUpdate {
    var update = self
    update.title = title?.cutToText
    update.subtitle = subtitle?.cutToText
    update.completedUnits = completedUnits?.heldToUnits
    update.totalUnits = totalUnits?.heldToUnits
    return update
  }
}

extension Ending {
  fileprivate var heldToLimits: Ending {
    var ending = self
    ending.errorType = errorType?.withoutNUL.cut(toBytes: WireLimits.detail.most)
    switch outcome {
    case .failed(let text): ending.outcome = .failed(text.withoutNUL.cut(toBytes: WireLimits.failure.most))
    case .expired(let reason): ending.outcome = .expired(reason.heldToLimits)
    case .finished, .lost: break
    }
    return ending
  }
}

extension ExpiryReason {
  /// Only the name of the person who cancelled is a free text of the worker; all other details are codes.
  fileprivate var heldToLimits: ExpiryReason {
    guard let detail, detail.utf8.count > WireLimits.detail.most || detail.utf8.contains(0) else { return self }
    return ExpiryReason(code: code, detail: detail.withoutNUL.cut(toBytes: WireLimits.detail.most)) ?? self
  }
}

extension Int64 {
  fileprivate var heldToUnits: Int64 {
    Swift.min(Swift.max(self, WireLimits.units.lowerBound), WireLimits.units.upperBound)
  }
}

extension String {
  fileprivate var cutToText: String {
    // The bytes are cut first, because a character may have any number of bytes.
    let most = WireLimits.text.most
    return String(withoutNUL.cut(toBytes: WireLimits.textBytes.most).prefix(most))
  }
}
