-- The partitions of each member, and how many of their records are not read yet.

SELECT member_id,
	array_agg(partition ORDER BY partition) AS partitions,
	sum(end_offset) AS records,
	sum(lag) AS unread
FROM minikafka.group_members
JOIN minikafka.consumer_lag USING (group_id, member_id)
GROUP BY member_id
ORDER BY member_id;
