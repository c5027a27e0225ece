internal import BatonModel

extension TelemetrySettings {
  /// Reads the `OTEL_*` variables. It never fails: a variable that cannot be read counts as unset and adds a warning to
  /// `warnings`.
  package init(environment: [String: String]) {
    var reader = EnvironmentReader(environment)
    isDisabled = reader.flag("OTEL_SDK_DISABLED")
    traces = SignalSettings(.traces, from: &reader)
    metrics = SignalSettings(.metrics, from: &reader)
    sampler = Sampler(from: &reader)
    batch = BatchLimits(from: &reader)
    span = SpanLimits(from: &reader)
    exportTimeout = reader.timeout("OTEL_BSP_EXPORT_TIMEOUT", otherwise: exportTimeout)
    resourceAttributes = Self.resourceAttributes(from: &reader)
    warnings = reader.warnings
    if isDisabled { (traces.exporters, metrics.exporters) = ([], []) }
  }

  /// Reads the resource attributes. If one entry of `OTEL_RESOURCE_ATTRIBUTES` is wrong, none of its entries is used:
  /// part of the attributes would describe another resource. Source:
  /// https://opentelemetry.io/docs/specs/otel/resource/sdk.
  private static func resourceAttributes(from reader: inout EnvironmentReader) -> [Attribute] {
    let name = "OTEL_RESOURCE_ATTRIBUTES"
    var pairs = KeyValueList.pairs(reader.text(name) ?? "")
    if let wrong = pairs.firstIndex(where: { $0 == nil }) {
      reader.warn(name, "entry \(wrong + 1) is not `key=value` with percent-encoding; no entry is used")
      pairs = []
    }
    let service = reader.text("OTEL_SERVICE_NAME").map { [Attribute(Names.Resource.serviceName, .string($0))] } ?? []
    return Resource(pairs.compactMap { $0 }.map { Attribute($0.key, .string($0.value)) } + service).attributes
  }
}

extension BatchLimits {
  init(from reader: inout EnvironmentReader) {
    let usual = BatchLimits()
    let delay = reader.duration("OTEL_BSP_SCHEDULE_DELAY", otherwise: usual.delay)
    let queue = reader.number("OTEL_BSP_MAX_QUEUE_SIZE", atLeast: 1, otherwise: usual.queue)
    let size = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
    let batch = reader.number(size, atLeast: 1, otherwise: min(usual.batch, queue))
    if batch > queue { reader.warn(size, "\(batch) is more than OTEL_BSP_MAX_QUEUE_SIZE; \(queue) is used") }
    self.init(queue: queue, batch: batch, delay: delay)
  }
}

extension SpanLimits {
  /// Reads the limits. A variable for spans (`OTEL_SPAN_…`, `OTEL_EVENT_…`, `OTEL_LINK_…`) takes precedence over the
  /// general variable (`OTEL_ATTRIBUTE_…`).
  init(from reader: inout EnvironmentReader) {
    self.init()
    let count = reader.number("OTEL_ATTRIBUTE_COUNT_LIMIT", otherwise: attributes)
    attributes = reader.number("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", otherwise: count)
    attributesPerEvent = reader.number("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", otherwise: count)
    attributesPerLink = reader.number("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", otherwise: count)
    events = reader.number("OTEL_SPAN_EVENT_COUNT_LIMIT", otherwise: events)
    links = reader.number("OTEL_SPAN_LINK_COUNT_LIMIT", otherwise: links)
    let length = reader.number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", otherwise: valueLength)
    valueLength = reader.number("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", otherwise: length)
  }
}

extension Sampler {
  private enum Name: String, CaseIterable {
    case alwaysOn = "always_on"
    case alwaysOff = "always_off"
    case ratio = "traceidratio"
    case parentBasedAlwaysOn = "parentbased_always_on"
    case parentBasedAlwaysOff = "parentbased_always_off"
    case parentBasedRatio = "parentbased_traceidratio"
  }

  init(from reader: inout EnvironmentReader) {
    let name = reader.choice("OTEL_TRACES_SAMPLER", otherwise: Name.parentBasedAlwaysOn)
    if name != .ratio, name != .parentBasedRatio { Self.warnOfArgument(name.rawValue, &reader) }
    switch name {
    case .alwaysOn: self.init(root: .always, isParentBased: false)
    case .alwaysOff: self.init(root: .never, isParentBased: false)
    case .ratio: self.init(root: .ratio(Self.ratio(from: &reader)), isParentBased: false)
    case .parentBasedAlwaysOn: self.init(root: .always)
    case .parentBasedAlwaysOff: self.init(root: .never)
    case .parentBasedRatio: self.init(root: .ratio(Self.ratio(from: &reader)))
    }
  }

  private static let argument = "OTEL_TRACES_SAMPLER_ARG"

  private static func ratio(from reader: inout EnvironmentReader) -> Double {
    guard let text = reader.text(argument) else { return 1 }
    if let ratio = Double(text), (0...1).contains(ratio) { return ratio }
    reader.warn(argument, "\(reader.quote(text)) is not a number from 0 to 1; 1 is used")
    return 1
  }

  private static func warnOfArgument(_ sampler: String, _ reader: inout EnvironmentReader) {
    guard reader.text(argument) != nil else { return }
    reader.warn(argument, "the sampler \(sampler) takes no argument; this variable is ignored")
  }
}
