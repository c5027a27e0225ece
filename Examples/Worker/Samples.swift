import BatonHandler
import BatonWorker
import BatonWorkerProgram
import Foundation
import Logging
import ServiceContextModule
import ServiceLifecycle

// The samples of the documentation that the worker in Main.swift does not need. They are here so that they are
// compiled.

/// A worker whose settings are made in code.
func configured() throws -> WorkerConfiguration {
  var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/my-worker", slots: 2)
  configuration.conditions.labels = ["zone": "garage"]
  configuration.hours = try LendingHours(["22:00-07:00", "Sat,Sun 00:00-24:00"])
  configuration.cpuLimit = CPUQuota(percent: 150)
  configuration.conditions.thermal.seriousMargin = 15
  return configuration
}

/// A whole worker whose settings come from a file and are changed in code.
func changed() async throws -> Never {
  var program = try await WorkerProgram(file: "/etc/my-worker.yaml")
  program.configuration.conditions.labels["application"] = "photos"
  program.configuration.runsCommands = false
  program.logLevel = .warning
  exit(await program.run { worker in worker.register("com.example.db-cleanup", handler: cleanUp) })
}

/// A worker that is one service of a larger program.
func beside(_ others: [any Service]) async throws {
  let worker = Worker(WorkerConfiguration(name: "desk", dataFolder: "/var/lib/my-worker", slots: 2))

  worker.register("com.example.db-cleanup") { task in
    let purgeable = Array(1...2_000)
    for try await batch in task.batches(of: purgeable, size: 50) {
      try await purge(batch)
    }
  }

  try await ServiceGroup(
    services: [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "example-worker")
  ).run()
}

/// Baton's tracer and its exporters for such a program.
func traced(_ worker: Worker, _ logger: Logger) async throws {
  // Each log line of a handler carries the trace of its request and the span in which it was written.
  LoggingSystem.bootstrap(
    { StreamLogHandler.standardError(label: $0, metadataProvider: $1) }, metadataProvider: .launch)

  let telemetry = WorkerTelemetry(logger: logger)
  telemetry.bootstrap()
  let group = ServiceGroup(
    services: telemetry.services + [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  try await group.run()
}

/// A handler that is a function.
@Sendable func cleanUp(_ task: JobTask) async throws {
  for try await batch in task.batches(of: purgeable, size: 50) {
    try await purge(batch)
  }
}

let purgeable = Array(1...2_000)

/// A handler that works on what was fetched for it.
@Sendable func loadFiles(_ task: JobTask) async throws {
  for event in task.transfers.events {
    switch event.result {
    case .success(let file): try await load(file.path)
    case .failure(let error): task.update(subtitle: error.message)
    }
  }
}

/// A handler of a request that is divided into shards needs no change.
func registerIndex(_ worker: Worker, documents: [String]) {
  worker.register("com.example.index") { task in
    for try await batch in task.batches(of: documents, size: 50) { try await index(batch) }
  }
}

/// A handler that passes its trace on to another program.
@Sendable func askOther(_ task: JobTask) async throws {
  if let traceparent = ServiceContext.current?.traceparent {
    try await ask("https://example.com/prices", headers: ["traceparent": traceparent])
  }
}

/// A handler that gives a result, and one that comes after it in a flow and reads it.
func registerImport(_ worker: Worker, files: [String]) {
  worker.register("com.example.import") { task in
    for try await batch in task.batches(of: files, size: 10) { try await load(batch) }
    try task.setResult(Imported(files: files.count, folder: "/data/import"))
  }
  worker.register("com.example.report") { task in
    let imported = try task.inputs.first?.result(as: Imported.self)
    task.update(subtitle: imported.map { "\($0.files) files" })
  }
}

struct Imported: Codable {
  var files: Int
  var folder: String
}

private func load(_ path: String) async throws {}
private func load(_ files: ArraySlice<String>) async throws {}
private func index(_ documents: ArraySlice<String>) async throws {}
private func ask(_ url: String, headers: [String: String]) async throws {}

/// A handler that submits its next request, before anything can go wrong, and another job at its end.
func registerNightly(_ worker: Worker) {
  worker.register("com.example.nightly") { task in
    try await task.submit("com.example.nightly", after: .seconds(86_400))
    for try await batch in task.batches(of: purgeable, size: 50) {
      try await purge(batch)
    }
    try await task.submit("com.example.report", payload: Report(purged: purgeable.count))
  }
}

struct Report: Codable {
  var purged: Int
}
