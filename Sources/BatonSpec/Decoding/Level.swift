import BatonModel

/// A mapping of a job file, and the keys that it knows. `Config/job.schema.json` has the same keys; a test
/// compares them.
enum Level: String, CaseIterable {
  case definition = ""
  case gpu
  /// One of the mappings of `preferredLabels`, each of which has the name of its label.
  case preferredLabel = "preferredLabels.NAME"
  case retry
  case concurrency
  case rate
  case `repeat`
  case schedule
  /// One of the mappings of the list `after`.
  case after
  case notify
  case patience = "notify.waits"
  case work
  case items = "work.items"
  /// One of the mappings of `work.secrets`, each of which has a name of its own.
  case secret = "work.secrets.NAME"
  /// `work.transfer`, or one of the mappings of the list `work.transfers`.
  case transfer = "work.transfer"
  /// One of the mappings of `headers` of a transfer, each of which has the name of its header field.
  case transferHeader = "work.transfer.headers.NAME"

  var keys: [String] {
    switch self {
    case .definition:
      [
        "identifier", "kind", "title", "subtitle", "requiresExternalPower", "requiresNetworkConnectivity", "network",
        "requiredResources", "gpu", "requiredLabels", "preferredLabels", "requiresIdle", "slots", "strategy",
        "priority",
        "budget", "closingWindow",
        "batchTimeout", "stallAfter", "dailyAllowance", "retention", "retry", "maxRunning", "concurrency",
        "rate", "pendingLimit",
        "allowFrequent",
        "earliestBeginDate",
        "repeat", "schedule", "pokeSpacing", "maySubmit", "after", "onSuccess", "onFailure", "notify", "work",
      ]
    case .gpu: ["count", "memory"]
    case .preferredLabel: ["value", "weight"]
    case .retry: ["limit", "backoff", "maxBackoff", "jitter", "on", "notOn", "skipBatchAfter", "skipLimit"]
    case .concurrency: ["key", "limit"]
    case .rate: ["key", "limit", "per", "burst"]
    case .repeat: ["every"]
    case .after: ["identifier", "on"]
    case .schedule: ["cron", "timeZone", "jitter", "exclude", "missed", "overlap", "from", "until"]
    case .notify: NotificationKind.keys.map(\.rawValue)
    case .patience: ["after", "to"]
    case .work:
      [
        "command", "directory", "items", "batchSize", "pass", "environment", "secrets", "onExpiry", "terminateBefore",
        "failureOutput", "sandbox", "user", "spread", "shardSize", "shards", "onShardFailure", "transfer",
        "transfers",
      ]
    case .items: ["glob", "lines", "range", "list"]
    case .secret: ["file", "as"]
    case .transfer:
      [
        "url", "urls", "items", "to", "method", "file", "headers", "sha256", "size", "group", "discretionary",
        "network", "allowsConstrained", "requestTimeout", "resourceTimeout", "earliestBeginDate", "shared",
      ]
    case .transferHeader: ["text", "secret", "variable"]
    }
  }

  /// The full path of a key: `work.command` for the key `command` of `work`.
  func path(of key: String) -> String { self == .definition ? key : "\(rawValue).\(key)" }

  /// The advice for a key that this level does not know: the level that it belongs to, a similar key, Baton's word for
  /// it, or the list of keys.
  /// - Parameter listsKeys: whether to list all keys of the level if no other advice is found.
  func advice(for unknown: String, listsKeys: Bool) -> String {
    // Items have one of four forms, and a key such as `count` is rather another word for one of them than misplaced.
    let elsewhere = self == .items ? nil : Self.allCases.first { $0.keys.contains(unknown) }
    if let level = elsewhere {
      return level == .definition ? "; it belongs at the top level" : "; it belongs in '\(level.rawValue)'"
    }
    if let nearest = Suggestion.nearest(to: unknown, among: keys) { return ", did you mean \(quoted(nearest))?" }
    if let meant = Self.synonym(of: unknown) { return advice(meaning: meant) }
    if !listsKeys { return "" }
    return "; \(self == .definition ? "a job" : "'\(rawValue)'") has \(keys.map { $0 }.joined(separator: ", "))"
  }

  /// The advice for a synonym of `key`. A key of a lower level is shown in the form in which it is written at the
  /// top level.
  private func advice(meaning key: String) -> String {
    if self == .definition, let form = Self.forms[key] { return "; write \(form)" }
    return "; the key in Baton is \(quoted(key))"
  }

  private static func synonym(of unknown: String) -> String? {
    let word = unknown.lowercased()
    if let meant = synonyms[word] { return meant }
    return Suggestion.nearest(to: word, among: synonyms.keys.sorted()).flatMap { synonyms[$0] }
  }

  /// How keys of lower levels are written at the top level.
  private static let forms = [
    "repeat.every": "repeat: {every: 24h}",
    "schedule.cron": "schedule: {cron: \"0 2 * * *\", timeZone: Europe/Berlin}",
    "schedule.timeZone": "schedule: {cron: \"0 2 * * *\", timeZone: Europe/Berlin}", "retry.limit": "retry: {limit: 3}",
    "work.environment": "work: {environment: {NAME: value}}", "work.command": "work: {command: [PROGRAM, ARGUMENT]}",
    "work.directory": "work: {directory: PATH}", "work.spread": "work: {spread: 8}",
    "work.shards": "work: {shards: 8}",
  ]

  /// Names that other systems have for Baton's keys, in lower case.
  private static let synonyms = [
    "name": "identifier", "id": "identifier", "timeout": "budget", "crontab": "schedule.cron",
    "calendar": "schedule.cron", "timezone": "schedule.timeZone",
    "interval": "repeat.every", "env": "work.environment", "args": "work.command", "cmd": "work.command",
    "run": "work.command",
    "cwd": "work.directory", "workingdirectory": "work.directory", "resources": "requiredResources", "cpus": "slots",
    "activedeadlineseconds": "budget", "backofflimit": "retry.limit", "maxattempts": "retry.limit",
    "labels": "requiredLabels", "nodeselector": "requiredLabels", "affinity": "preferredLabels",
    "retries": "retry.limit",
    "parallelism": "work.spread", "workers": "work.spread", "completions": "work.shards",
    "delay": "earliestBeginDate",
    "graceperiod": "closingWindow", "terminationgraceperiodseconds": "closingWindow", "quota": "dailyAllowance",
  ]
}

/// The value of a key, with the name of the key for messages.
struct Field {
  /// The full key in quotes, such as `'work.batchSize'`.
  var label: String
  var keyPosition: Position
  var value: Node
}

/// The fields of one mapping.
struct Fields {
  var level: Level
  /// The place at which a missing key is reported.
  var position: Position
  /// The fields in the order of the file.
  var inOrder: [(key: String, field: Field)] = []

  subscript(_ key: String) -> Field? {
    // A misspelt name in the decoder would be a key that is never read.
    precondition(level.keys.contains(key), "no key \(key) in \(level)")
    return inOrder.first { $0.key == key }?.field
  }
}
