import ContractRows
import Foundation
import Testing

@testable import BatonProcess

/// Which launch a process comes from, if no control group tells it (promise P8).
@Suite struct ProcessOriginsTests {
  private static let (ours, ended, running) = ("/data/launches/", "/data/launches/1-1", "/data/launches/2-1")

  private static func process(
    _ pid: Int32 = 50, session: Int32 = 40, start: UInt64 = 1000, state: String = "S", memory: String = "4096",
    environment: String = "140722"
  ) -> ProcessEntry {
    let (empty, middle) = (Array(repeating: "0", count: 14), Array(repeating: "0", count: 27))
    let fields =
      ["\(pid)", "(a b)", state, "1", "\(pid)", "\(session)", "0"] + empty + ["\(start)", memory] + middle + [
        environment
      ]
    return ProcessEntry(stat: Array(fields.joined(separator: " ").utf8))!
  }

  private static func marked(_ folder: String) -> [UInt8] {
    Array("PATH=/bin\0BATON_EXPIRY_FILE=\(folder)/expiry.json\0".utf8)
  }

  /// Reads the marker of a process that changes: each look takes the next environment and the next entry.
  private func reading(_ environments: [[UInt8]?], _ entries: [ProcessEntry?]) -> ProcessMarker.Reading {
    var (bytes, processes) = (environments[...], entries[...])
    return ProcessMarker.reading(
      environment: { bytes.popFirst() ?? nil }, entry: { processes.popFirst() ?? nil })
  }

  @Test func `a line of proc says whether the process is in execve`() {
    #expect(Self.process().hasEnvironment && Self.process().hasMemory)
    #expect(!Self.process(environment: "0").hasEnvironment)
    #expect(!Self.process(memory: "0").hasMemory)
    #expect(Self.process(start: 77).startTime == 77)
  }

  @Test func `an environment that reads as empty in execve is not known yet`() {
    let inExecve = Self.process(environment: "0")
    #expect(reading([[], [], []], [inExecve, inExecve, inExecve]) == .notYet)
    #expect(reading([[], Self.marked("/a")], [inExecve]) == .launch("/a"), "it came out of it")
    #expect(reading([[], Self.marked("/a")], [Self.process()]) == .launch("/a"), "it came out of it between the looks")
    #expect(reading([[], []], [Self.process(), Self.process()]) == .unmarked, "it has none")
    #expect(reading([[], [], []], [Self.process(), inExecve, Self.process()]) == .notYet, "it went into it again")
    #expect(reading([[]], [Self.process(state: "Z")]) == .unreadable)
    #expect(reading([[]], [Self.process(memory: "0", environment: "0")]) == .unreadable, "a thread of the kernel")
    #expect(reading([nil], []) == .unreadable)
    #expect(reading([Array("PATH=/bin\0".utf8)], []) == .unmarked)
    #expect(reading([Array("BATON_EXPIRY_FILE=/a/other\0".utf8)], []) == .unmarked)
  }

  /// One launch began at tick 500 and has ended. Another one has run since tick 900.
  private var origins: ProcessOrigins {
    var origins = ProcessOrigins()
    origins.begin(Self.ended, at: 500)
    origins.begin(Self.running, at: 900)
    origins.end(Self.ended)
    return origins
  }

  @Test func `a marker says whose a process is`() {
    let cases: [(ProcessMarker.Reading, ProcessOrigins.Verdict)] = [
      (.launch(Self.ended), .kill), (.launch(Self.running), .spare), (.launch("/other/launches/1-1"), .spare),
      (.notYet, .lookAgain),
    ]
    for (reading, verdict) in cases {
      #expect(origins.verdict(on: Self.process(), reading, ours: Self.ours) == verdict, "\(reading)")
    }
    #expect(origins.verdict(on: Self.process(state: "Z"), .notYet, ours: Self.ours) == .kill)
  }

  @Test(arguments: [ProcessMarker.Reading.unmarked, .unreadable])
  func `a process without a marker lives no longer than the launches that ran when it started`(
    reading: ProcessMarker.Reading
  ) {
    #expect(origins.verdict(on: Self.process(start: 899), reading, ours: Self.ours) == .kill)
    #expect(origins.verdict(on: Self.process(start: 900), reading, ours: Self.ours) == .spare, "in the same tick")
    #expect(origins.verdict(on: Self.process(start: 901), reading, ours: Self.ours) == .spare)
    var later = origins
    later.end(Self.running)
    #expect(later.verdict(on: Self.process(start: 901), reading, ours: Self.ours) == .kill)
    later.begin("/data/launches/3-1", at: 1000)
    #expect(later.verdict(on: Self.process(start: 901), reading, ours: Self.ours) == .kill)
  }

  @Test func `what was seen below a command is that launch's, and so is the session that it led`() {
    var origins = origins
    let daemon = Self.process(60, session: 60, start: 950)
    origins.saw([daemon], of: Self.ended)
    origins.saw([Self.process(61, start: 950)], of: Self.running)
    for process in [daemon, Self.process(70, session: 60, start: 960)] {
      #expect(origins.verdict(on: process, .unmarked, ours: Self.ours) == .kill)
    }
    #expect(origins.verdict(on: Self.process(61, start: 950), .unmarked, ours: Self.ours) == .spare)
    #expect(
      origins.verdict(on: Self.process(60, session: 99, start: 2000), .unmarked, ours: Self.ours) == .spare,
      "another process of this number")
    origins.forget(Self.ended)
    #expect(origins.verdict(on: daemon, .unmarked, ours: Self.ours) == .spare)
  }

  @Test func `ticks count as start times of processes do`() throws {
    let before = try #require(ProcessTable.entry(of: getpid())).startTime
    #expect(ProcessOrigins.ticks >= before)
  }
}
