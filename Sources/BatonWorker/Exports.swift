// The settings of a worker have types of BatonHost and BatonModel, such as `ConditionSettings` and `LendingHours`, and
// its handlers get a `JobTask` of BatonHandler. These exports let a program name them with `import BatonWorker` alone.
@_exported public import BatonHandler
@_exported public import BatonHost
